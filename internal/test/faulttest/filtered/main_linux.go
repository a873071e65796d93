// Command filtered becomes another program, whose calls its parent answers: see
// [faulttest.Child].
package main

import "mend/internal/test/faulttest"

func main() { faulttest.Child() }

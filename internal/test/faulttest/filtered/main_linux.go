// Command filtered becomes another program, with calls that its parent answers: see [faulttest.Child].
//
// It may import internal/test/faulttest.
package main

import "mend/internal/test/faulttest"

func main() { faulttest.Child() }

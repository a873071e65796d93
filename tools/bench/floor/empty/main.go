// Empty does nothing: what a Go program costs.
package main

func main() {}

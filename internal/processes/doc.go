// Package processes reads what the system reports of other processes. Only Linux
// reports what is needed here; elsewhere the package is empty.
package processes

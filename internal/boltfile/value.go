package boltfile

import (
	"bytes"
	"cmp"
	"slices"
)

// A Value is a value to be written.
type Value struct {
	Bucket   string
	Key, Val []byte
}

// PutCost is the approximate cost in bytes of a key in addition to its bytes. It also limits the
// number of keys in a transaction, which should stay below 100,000 for bbolt.
const PutCost = 200

// Cost returns the approximate size in bytes of the value in the file.
func (v *Value) Cost() int { return len(v.Key) + len(v.Val) + PutCost }

// PutAll writes values in the order of their keys, which is fastest in bbolt.
func (w *Tx) PutAll(values []Value) error {
	slices.SortFunc(values, func(x, y Value) int {
		return cmp.Or(cmp.Compare(x.Bucket, y.Bucket), bytes.Compare(x.Key, y.Key))
	})
	for _, v := range values {
		if err := w.Put(v.Bucket, v.Key, v.Val); err != nil {
			return err
		}
	}
	return nil
}

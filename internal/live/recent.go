package live

import "slices"

// maxRecent is the number of keys that a Recent keeps.
const maxRecent = 4096

// A Recent is a map that removes its oldest key when it is full. The zero value is empty.
type Recent[V any] struct {
	values map[string]V
	order  []string // the keys, oldest first
}

// Get returns the value of a key, and whether the key exists.
func (r *Recent[V]) Get(key string) (V, bool) {
	v, ok := r.values[key]
	return v, ok
}

// Set sets the value of a key.
func (r *Recent[V]) Set(key string, v V) {
	if r.values == nil {
		r.values = map[string]V{}
	}
	if _, ok := r.values[key]; !ok {
		if len(r.order) == maxRecent {
			r.Remove(r.order[0])
		}
		r.order = append(r.order, key)
	}
	r.values[key] = v
}

// Remove removes a key.
func (r *Recent[V]) Remove(key string) {
	if _, ok := r.values[key]; !ok {
		return
	}
	delete(r.values, key)
	i := slices.Index(r.order, key)
	r.order = slices.Delete(r.order, i, i+1)
}

// Keys returns the keys, oldest first.
func (r *Recent[V]) Keys() []string { return slices.Clone(r.order) }

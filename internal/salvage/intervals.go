package salvage

import "sort"

// intervals is a set of rowids. Most tables have few gaps.
type intervals [][2]int64 // first and last, ascending

func (s *intervals) add(n int64) {
	all := *s
	i := len(all)
	if i > 0 && n <= all[i-1][1] { // usually n comes after the last one
		i = sort.Search(len(all), func(i int) bool { return n <= all[i][1] })
		if all[i][0] <= n {
			return
		}
	}
	before := i > 0 && all[i-1][1] == n-1
	after := i < len(all) && all[i][0] == n+1
	switch {
	case before && after:
		all[i-1][1] = all[i][1]
		*s = append(all[:i], all[i+1:]...)
	case before:
		all[i-1][1] = n
	case after:
		all[i][0] = n
	default:
		all = append(all, [2]int64{})
		copy(all[i+1:], all[i:])
		all[i] = [2]int64{n, n}
		*s = all
	}
}

func (s intervals) has(n int64) bool {
	i := sort.Search(len(s), func(i int) bool { return n <= s[i][1] })
	return i < len(s) && s[i][0] <= n
}

// count returns the number of rowids.
func (s intervals) count() (n int) {
	for _, i := range s {
		n += int(i[1] - i[0] + 1)
	}
	return n
}

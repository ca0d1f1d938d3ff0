package memcheckpoint

// pairs is a small map: each key is followed by its value. It takes a third of the memory of a map.
type pairs []string

// newPairs returns the pairs of a map. It returns nil for a nil map.
func newPairs(m map[string]string) pairs {
	if m == nil {
		return nil
	}
	p := make(pairs, 0, 2*len(m))
	for key, value := range m {
		p = append(p, key, value)
	}
	return p
}

// toMap returns a map with the pairs.
func (p pairs) toMap() map[string]string {
	if p == nil {
		return nil
	}
	m := make(map[string]string, len(p)/2)
	for i := 0; i < len(p); i += 2 {
		m[p[i]] = p[i+1]
	}
	return m
}

func (p pairs) get(key string) (value string, ok bool) {
	for i := 0; i < len(p); i += 2 {
		if p[i] == key {
			return p[i+1], true
		}
	}
	return "", false
}

// equal reports whether a map has the same pairs. A nil map equals only nil pairs.
func (p pairs) equal(m map[string]string) bool {
	if len(m) != len(p)/2 || (m == nil) != (p == nil) {
		return false
	}
	for key, want := range m {
		if got, ok := p.get(key); !ok || got != want {
			return false
		}
	}
	return true
}

package checkpoint

import (
	"cmp"
	"slices"
)

// memoryWrites are the pending writes of a checkpoint, as they came. Data is
// never changed once it is in.
type memoryWrites struct {
	list  []Write
	place map[writeKey]int
}

type writeKey struct {
	task  string
	index int
}

func (l *memoryLog) putWrites(i int, writes []Write) {
	if len(writes) == 0 {
		return
	}
	w := l.writes[i]
	if w == nil {
		w = &memoryWrites{place: map[writeKey]int{}}
		if l.writes == nil {
			l.writes = map[int]*memoryWrites{}
		}
		l.writes[i] = w
	}
	for _, write := range writes {
		write.Data = cloneBytes(write.Data)
		key := writeKey{write.Task, write.Index}
		if at, ok := w.place[key]; ok {
			w.list[at] = write
			continue
		}
		w.place[key] = len(w.list)
		w.list = append(w.list, write)
	}
}

// copy returns the writes in a slice of their own.
func (w *memoryWrites) copy() []Write {
	if w == nil {
		return nil
	}
	return slices.Clone(w.list)
}

// sortedWrites orders what pending returned, and gives it data of its own.
func sortedWrites(writes []Write) []Write {
	for i := range writes {
		writes[i].Data = cloneBytes(writes[i].Data)
	}
	slices.SortFunc(writes, func(a, b Write) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Index, b.Index))
	})
	return writes
}

package statecore

import "sync"

// maxPooled is the capacity above which a buffer is left to the garbage
// collector.
const maxPooled = 1 << 16

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func acquireBuffer() *[]byte { return buffers.Get().(*[]byte) }

// releaseBuffer returns a buffer to the pool. Used is what became of it.
func releaseBuffer(buf *[]byte, used []byte) {
	if cap(used) <= maxPooled {
		*buf = used[:0]
		buffers.Put(buf)
	}
}

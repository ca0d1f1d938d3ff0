package statecore

import "sync"

// maxPooled is the largest capacity of a buffer that returns to the pool, in bytes.
const maxPooled = 1 << 16

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func acquireBuffer() *[]byte { return buffers.Get().(*[]byte) }

// releaseBuffer returns a buffer to the pool.
// The slice used is the buffer after appends, which may have reallocated it.
func releaseBuffer(buf *[]byte, used []byte) {
	if cap(used) <= maxPooled {
		*buf = used[:0]
		buffers.Put(buf)
	}
}

package statecore

import "sync"

// maxPooled is the largest capacity of a buffer that returns to the pool, in bytes.
const maxPooled = 1 << 16

var buffers = sync.Pool{New: func() any { return new([]byte) }}

func acquireBuffer() *[]byte { return buffers.Get().(*[]byte) }

// releaseBuffer returns a buffer to the pool, unless it has become too large.
// The argument extended is the buffer after appends, which may have reallocated it.
func releaseBuffer(buf *[]byte, extended []byte) {
	if cap(extended) <= maxPooled {
		*buf = extended[:0]
		buffers.Put(buf)
	}
}

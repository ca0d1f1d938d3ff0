package checkpoint

// store writes a record to the end of a chunk.
func (l *memoryLog) store(c *Checkpoint, s *memorySpace, i int, p *memoryPlace) memoryRef {
	switch n := recordBound(c); {
	case n <= l.room():
		chunk := l.chunks[len(l.chunks)-1]
		l.added(l.fill, l.appendRecord(chunk[:l.fill], c, s, i, p))
	case n <= memoryShort:
		var short [memoryShort]byte // on the stack
		l.copy(l.appendRecord(short[:0], c, s, i, p))
	default:
		l.keep(l.appendRecord(make([]byte, 0, n), c, s, i, p))
	}
	if l.told > 0 {
		l.mark(l.start+l.told, len(c.Control))
	}
	return memoryRef{hash: p.id.hash, chunk: uint32(len(l.chunks) - 1), offset: uint32(l.start)}
}

// room is what is left of the last chunk.
func (l *memoryLog) room() int {
	if len(l.chunks) == 0 {
		return 0
	}
	return len(l.chunks[len(l.chunks)-1]) - l.fill
}

// added notes a record at the end of what is used of the last chunk.
func (l *memoryLog) added(start int, used []byte) {
	l.start, l.fill = start, len(used)
	l.size += len(used) - start
}

// keep makes a long record a chunk of its own.
func (l *memoryLog) keep(record []byte) {
	if len(record) < memoryMaxChunk/4 {
		l.copy(record)
		return
	}
	l.chunks = append(l.chunks, record)
	l.added(0, record)
}

// copy adds a record to the last chunk, or to a new one.
func (l *memoryLog) copy(record []byte) {
	if l.room() < len(record) {
		l.chunks = append(l.chunks, l.newChunk(len(record)))
		l.fill = 0
	}
	l.added(l.fill, append(l.chunks[len(l.chunks)-1][:l.fill], record...))
}

// newChunk has room for so many bytes at least. Chunks grow with the log, so that
// neither short nor long threads waste much. The first comes with room for the list of
// records: all of a short thread that the collector has to find is this and the log.
func (l *memoryLog) newChunk(least int) []byte {
	if l.refs == nil && least <= len(memoryStart{}.records) {
		start := &memoryStart{}
		l.refs = start.refs[:0]
		return start.records[:]
	}
	return make([]byte, min(max(l.size/8, least, memoryMinChunk), memoryMaxChunk))
}

// memoryStart is where the records of a log begin. Of its size the allocator has one.
type memoryStart struct {
	refs    [memoryFewest]memoryRef
	records [1280 - 12*memoryFewest]byte
}

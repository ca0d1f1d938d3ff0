package checkpoint

// MemoryOptions configures [NewMemory]. Its zero value works.
type MemoryOptions struct {
	// MaxValue is the most bytes that one change or pending write may hold.
	// Zero means 16 MB; a negative value means no limit.
	MaxValue int
}

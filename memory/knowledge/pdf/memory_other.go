//go:build !linux

package pdf

// limitMemory does nothing: only Linux can limit the memory of another process.
func limitMemory(int, int64) error { return nil }

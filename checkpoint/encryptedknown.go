package checkpoint

import "sync"

// maxKnown is the number of checkpoints in one generation of knownDigests.
const maxKnown = 4096

// knownDigests caches the digests of checkpoints that were recently read or written. Put
// reads its parent only if the cache does not have it.
type knownDigests struct {
	mu           sync.Mutex
	young, older map[Key]digest
}

func (k *knownDigests) find(key Key) (digest, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, ok := k.young[key]
	if !ok {
		d, ok = k.older[key]
	}
	return d, ok
}

// add caches a checkpoint and drops its parent, because few more checkpoints will follow
// that parent.
func (k *knownDigests) add(key Key, d digest, parent string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.young == nil || len(k.young) >= maxKnown {
		k.young, k.older = map[Key]digest{}, k.young
	}
	k.young[key] = d
	if parent != "" {
		delete(k.young, Key{Thread: key.Thread, Namespace: key.Namespace, ID: parent})
	}
}

package checkpoint

import "sync"

// maxKnown is the maximum number of digests in each of the two maps of knownDigests.
const maxKnown = 4096

// knownDigests caches the digests of checkpoints that were recently read or written. Put
// reads the parent of a checkpoint only if the cache does not have the parent's digest.
// When the map young is full, it replaces the map older, whose digests are dropped.
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

// add caches the digest of a checkpoint. It drops the digest of the parent, because few
// further checkpoints will have the same parent.
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

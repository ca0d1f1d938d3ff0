package checkpoint

// linkChannel is the channel of the link, which is the last change in a list of form 2. The
// data of a link is a binding.
const linkChannel = "$seal"

// checkpoint returns c with encrypted values, for the inner store.
func (s *sealer) checkpoint(c Checkpoint, b *binding) Checkpoint {
	control := place{form: sealBound, key: c.Key, what: sealedControl, source: c.Source, header: &c}
	sealed := c
	sealed.Control = s.seal(append(b.append(nil), c.Control...), &control)
	link := *b
	link.noChanges = c.Changes == nil
	sealed.Changes = s.list(&c, sealedChange, &link)
	if c.Snapshot != nil {
		link.noChanges = false
		sealed.Snapshot = s.list(&c, sealedSnapshot, &link)
	}
	return sealed
}

// list seals the changes or the snapshot of a checkpoint, and appends the link.
func (s *sealer) list(c *Checkpoint, what byte, link *binding) []Change {
	in := place{form: sealBound, key: c.Key, what: what, source: c.Source, digest: link.digest}
	list := c.Changes
	if what == sealedSnapshot {
		list = c.Snapshot
	}
	sealed, _ := s.changes(list, in, s.sealed) // seal does not fail
	at := linkPlace(in, len(list))
	return append(sealed, Change{Channel: linkChannel, Data: s.seal(link.append(nil), &at)})
}

// linkPlace returns the place of the link of a list, given the place of the list and the
// number of its changes without the link.
func linkPlace(list place, count int) place {
	list.digest, list.count, list.channel = digest{}, count, linkChannel
	if list.what == sealedSnapshot {
		list.what = sealedSnapshotLink
	} else {
		list.what = sealedChangeLink
	}
	return list
}

// openControl decrypts Control and returns its binding. For form 2, this also authenticates
// step, source, run, version and metadata. The binding is nil for a Control of form 1.
func (s *sealer) openControl(c *Checkpoint) (*binding, error) {
	p := place{form: sealSingle, key: c.Key, what: sealedControl}
	if len(c.Control) > 0 && c.Control[0] == sealBound {
		p.form, p.source, p.header = sealBound, c.Source, c
	}
	data, err := s.open(c.Control, &p)
	if err != nil {
		return nil, err
	}
	if p.form == sealSingle {
		c.Control = data
		return nil, nil
	}
	b, rest, ok := parseBinding(data)
	if !ok {
		return nil, p.altered("its layout is invalid")
	}
	c.Control = rest
	return b, nil
}

// openList decrypts a list of changes at the place in, and sets the form and the digest of
// that place. The binding is nil for a list of form 1.
func (s *sealer) openList(list []Change, in *place) ([]Change, *binding, error) {
	n := len(list) - 1
	if n < 0 || list[n].Channel != linkChannel || len(list[n].Data) == 0 || list[n].Data[0] != sealBound {
		in.form = sealSingle
		opened, err := s.changes(list, *in, s.open)
		return opened, nil, err
	}
	in.form = sealBound
	at := linkPlace(*in, n)
	at.kind = list[n].Kind
	data, err := s.open(list[n].Data, &at)
	if err != nil {
		return nil, nil, err
	}
	link, rest, ok := parseBinding(data)
	if !ok || len(rest) > 0 || link.noChanges && n > 0 {
		return nil, nil, at.altered("its layout is invalid")
	}
	if link.noChanges {
		return nil, link, nil
	}
	in.digest = link.digest
	opened, err := s.changes(list[:n], *in, s.open)
	return opened, link, err
}

// openValues decrypts the changes and the snapshot of a checkpoint. b is the binding of
// its Control, and nil for form 1.
func (s *sealer) openValues(c *Checkpoint, b *binding) error {
	if b != nil && b.snapshot != (c.Snapshot != nil) {
		return altered(c.Key, "its snapshot was added or removed")
	}
	p := place{key: c.Key, what: sealedChange, source: c.Source}
	changes, link, err := s.openList(c.Changes, &p)
	if err == nil {
		err = link.mustMatch(b, c.Key)
	}
	if err != nil {
		return err
	}
	c.Changes = changes
	if c.Snapshot == nil {
		return nil
	}
	p.what = sealedSnapshot
	snapshot, link, err := s.openList(c.Snapshot, &p)
	if err == nil {
		err = link.mustMatch(b, c.Key)
	}
	c.Snapshot = snapshot
	return err
}

// openLineage decrypts the lineage of a checkpoint and checks that it is unbroken. The
// checkpoint's own values must be decrypted already.
func (s *sealer) openLineage(c *Checkpoint, b *binding) error {
	last := len(c.Lineage) - 1
	if last < 0 || c.Lineage[last].ID != c.ID {
		return altered(c.Key, "its lineage does not end with it")
	}
	chain := chain{of: c.Key}
	for i := range c.Lineage {
		d := &c.Lineage[i]
		of := b
		if i == last {
			if d.Snapshot != (c.Snapshot != nil) || d.Source != c.Source {
				return altered(c.Key, "its own part of its lineage is of another checkpoint")
			}
			d.Changes = c.Changes
			if d.Snapshot {
				d.Changes = c.Snapshot
			}
		} else {
			var err error
			if of, err = s.openDelta(c.Key, d); err != nil {
				return err
			}
		}
		if err := chain.add(d, of); err != nil {
			return err
		}
	}
	return nil
}

// openDelta decrypts the part of a lineage that belongs to an ancestor, and returns its
// binding, or nil for form 1.
func (s *sealer) openDelta(k Key, d *Delta) (*binding, error) {
	k.ID = d.ID
	p := place{key: k, what: sealedChange, source: d.Source}
	if d.Snapshot {
		p.what = sealedSnapshot
	}
	changes, link, err := s.openList(d.Changes, &p)
	d.Changes = changes
	return link, err
}

// writes encrypts pending writes.
func (s *sealer) writes(k Key, list []Write) []Write {
	if list == nil {
		return nil
	}
	sealed := make([]Write, len(list))
	for i, w := range list {
		p := writePlace(sealBound, k, &w)
		data := appendNextWrite(nil, &list[(i+1)%len(list)])
		w.Data = s.seal(append(data, w.Data...), &p)
		sealed[i] = w
	}
	return sealed
}

func writePlace(form byte, k Key, w *Write) place {
	return place{form: form, key: k, what: sealedWrite, channel: w.Channel, kind: w.Kind, task: w.Task, index: w.Index}
}

// openWrites decrypts the pending writes of a checkpoint. b is the binding of its Control.
// A checkpoint of form 2 has no writes of form 1.
func (s *sealer) openWrites(c *Checkpoint, b *binding) ([]Write, error) {
	if c.Writes == nil {
		return nil, nil
	}
	opened := make([]Write, len(c.Writes))
	exists := make(map[writeID]bool, len(opened))
	named := make([]writeID, 0, len(opened))
	for i, w := range c.Writes {
		form := byte(sealBound)
		if b == nil && len(w.Data) > 0 && w.Data[0] == sealSingle {
			form = sealSingle
		}
		p := writePlace(form, c.Key, &w)
		data, err := s.open(w.Data, &p)
		if err != nil {
			return nil, err
		}
		if form == sealBound {
			next, rest, ok := parseNextWrite(data)
			if !ok {
				return nil, p.altered("its layout is invalid")
			}
			data = rest
			named = append(named, next)
		}
		exists[writeID{w.Task, w.Index}] = true
		w.Data = data
		opened[i] = w
	}
	for _, id := range named {
		if !exists[id] {
			return nil, altered(c.Key, "pending write %d of task %q is missing", id.index, id.task)
		}
	}
	return opened, nil
}

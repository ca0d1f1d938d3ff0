package state

// Emit receives a stored change. Data is the receiver's to keep, unless it was
// written to a buffer of the receiver's own; see [Tx.AppendChanges].
type Emit func(channel string, k Kind, data []byte)

// A sink is where the stored form of changes goes.
type sink struct {
	emit  Emit
	buf   []byte // what holds data, behind what it held before
	lends bool   // data is a part of buf; else it has memory of its own
}

// sendValue emits a change whose data is the JSON of v.
func (c *codec[T]) sendValue(to *sink, name string, k Kind, v T) error {
	if !to.lends {
		data, err := c.encode(v)
		if err == nil {
			to.emit(name, k, data)
		}
		return err
	}
	out, err := c.append(to.buf, v)
	return to.lend(name, k, out, err)
}

// sendList emits a change whose data is the JSON array of items.
func (c *codec[T]) sendList(to *sink, name string, k Kind, items []T) error {
	if !to.lends {
		data, err := c.encodeList(items)
		if err == nil {
			to.emit(name, k, data)
		}
		return err
	}
	out, err := c.appendList(to.buf, items)
	return to.lend(name, k, out, err)
}

// lend emits what was appended to the buffer.
func (to *sink) lend(name string, k Kind, out []byte, err error) error {
	if err != nil {
		return err
	}
	start := len(to.buf)
	if cap(out) == cap(to.buf) {
		to.buf = to.buf[:len(out)] // where it is: this writes no pointer
	} else {
		to.buf = out
	}
	to.emit(name, k, out[start:len(out):len(out)])
	return nil
}

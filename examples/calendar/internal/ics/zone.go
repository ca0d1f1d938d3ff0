package ics

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds on the time zones of a file.
const (
	maxZones   = 500
	maxChanges = 10_000
)

// A zone returns the offset from UTC in seconds, at a Unix time.
type zone func(unix int64) int64

func inLocation(loc *time.Location) zone {
	return func(unix int64) int64 {
		_, offset := time.Unix(unix, 0).In(loc).Zone()
		return int64(offset)
	}
}

const aDay = 24 * 60 * 60

// instant returns the instant of a wall time, or the first one if the wall time occurs twice. For a wall time that is
// skipped when the clocks change, it uses the offset before the change (RFC 5545, 3.3.5).
func (z zone) instant(wall time.Time) time.Time {
	unix := wall.Unix()
	before, after := z(unix-aDay), z(unix+aDay)
	if z(unix-before) != before && z(unix-after) == after {
		before = after
	}
	return time.Unix(unix-before, 0).UTC()
}

// wall returns the wall time at a time.
func (z zone) wall(t time.Time) time.Time { return time.Unix(t.Unix()+z(t.Unix()), 0).UTC() }

//go:embed windows_zones.txt
var windowsZones string

// zoneOf finds a zone by its name, else by its description in the file, else by its name on Windows.
func (c *calendar) zoneOf(id string) (zone, error) {
	if known, ok := c.zones[id]; ok {
		return known.zone, known.err
	}
	if len(c.zones) >= maxZones {
		return nil, fmt.Errorf("the time zone %.60q is one more than the limit of %d for a calendar", id, maxZones)
	}
	z, err := c.findZone(id)
	c.zones[id] = knownZone{z, err}
	return z, err
}

// knownZone is the result of an earlier findZone.
type knownZone struct {
	zone zone
	err  error
}

func (c *calendar) findZone(id string) (zone, error) {
	if z := named(strings.TrimPrefix(id, "/")); z != nil {
		return z, nil
	}
	if described, ok := c.described()[id]; ok {
		if z := named(described.text("X-LIC-LOCATION")); z != nil {
			return z, nil
		}
		return c.describedZone(id, described)
	}
	for line := range strings.Lines(windowsZones) {
		if windows, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && windows == id {
			return named(name), nil
		}
	}
	return nil, fmt.Errorf("there is no time zone %.60q", id)
}

// named returns the zone of a name such as Europe/Berlin, or nil.
func named(name string) zone {
	if loc, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return inLocation(loc)
	}
	return nil
}

// described returns the time zones that the file describes, by their ids.
func (c *calendar) described() map[string]*component {
	if c.descriptions == nil {
		c.descriptions = map[string]*component{}
		for _, z := range c.root.subs("VTIMEZONE") {
			c.descriptions[z.text("TZID")] = z
		}
	}
	return c.descriptions
}

// A change is a change of the offset of a zone, at a Unix time.
type change struct {
	unix          int64
	before, after int64
}

// describedZone returns the zone that a VTIMEZONE describes.
func (c *calendar) describedZone(id string, z *component) (zone, error) {
	var all []change
	steps := c.steps.meter()
	for _, part := range slices.Concat(z.subs("STANDARD"), z.subs("DAYLIGHT")) {
		var err error
		if all, err = c.changes(all, part, steps); err != nil {
			return nil, fmt.Errorf("the time zone %.60q: %w", id, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("the time zone %.60q has no times", id)
	}
	slices.SortStableFunc(all, func(a, b change) int { return int(a.unix - b.unix) })
	return func(unix int64) int64 {
		at, found := slices.BinarySearchFunc(all, unix, func(c change, unix int64) int { return int(c.unix - unix) })
		switch {
		case found:
			return all[at].after
		case at == 0:
			return all[0].before
		}
		return all[at-1].after
	}, nil
}

// changes adds the changes of clocks from 1970 to 2100 that a part of a VTIMEZONE describes.
func (c *calendar) changes(all []change, part *component, steps *meter) ([]change, error) {
	p, _ := part.get("DTSTART")
	start, err := parseWall(strings.TrimSpace(p.value))
	if err != nil {
		return nil, err
	}
	after, err := offset(part.text("TZOFFSETTO"))
	if err != nil {
		return nil, err
	}
	before, err := offset(part.text("TZOFFSETFROM"))
	if err != nil {
		before = after
	}
	add := func(wall time.Time) bool {
		all = append(all, change{wall.Unix() - before, before, after})
		return len(all) <= maxChanges
	}
	add(start)
	for _, p := range part.all("RDATE") {
		for value := range strings.SplitSeq(p.value, ",") {
			wall, err := parseWall(strings.TrimSpace(value))
			if err != nil {
				return nil, err
			}
			add(wall)
		}
	}
	for _, p := range part.all("RRULE") {
		r, err := parseRule(p.value, start)
		if err != nil {
			return nil, err
		}
		past, err := r.past(moment{wall: start, zone: func(int64) int64 { return before }})
		if err != nil {
			return nil, err
		}
		err = r.expand(start, time.Unix(0, 0).UTC(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), steps, func(wall time.Time) bool {
			return !past(wall) && add(wall)
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) > maxChanges {
		return nil, fmt.Errorf("it has more than the limit of %d changes of its clocks", maxChanges)
	}
	return all, nil
}

// offset reads a value such as +0100 or -073015.
func offset(text string) (int64, error) {
	for _, form := range []string{"-0700", "-070000"} {
		if t, err := time.Parse(form, text); err == nil {
			_, seconds := t.Zone()
			return int64(seconds), nil
		}
	}
	return 0, fmt.Errorf("%.20q is no offset from UTC", text)
}

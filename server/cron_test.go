package server

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCronPlansTheNextRun(t *testing.T) {
	t.Parallel()
	after := time.Date(2026, 3, 27, 12, 30, 0, 0, time.UTC) // A Friday. Clocks in Berlin change on Sunday.
	at := func(text string) *time.Time {
		v, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return &v
	}
	for name, c := range map[string]struct {
		schedule, zone string
		end            *time.Time
		disabled       bool
		next           *time.Time
	}{
		"every five minutes":     {schedule: "*/5 * * * *", next: at("2026-03-27T12:35:00Z")},
		"names":                  {schedule: "0 9 * APR MON", next: at("2026-04-06T09:00:00Z")},
		"either day":             {schedule: "0 0 29 * FRI", next: at("2026-03-29T00:00:00Z")},
		"macro":                  {schedule: "@daily", next: at("2026-03-28T00:00:00Z")},
		"zone":                   {schedule: "0 9 * * *", zone: "Asia/Tokyo", next: at("2026-03-28T00:00:00Z")},
		"summer time":            {schedule: "0 9 29 3 *", zone: "Europe/Berlin", next: at("2026-03-29T07:00:00Z")},
		"a day that never comes": {schedule: "0 0 31 2 *"},
		"disabled":               {schedule: "* * * * *", disabled: true},
		"at its end":             {schedule: "0 13 * * *", end: at("2026-03-27T13:00:00Z"), next: at("2026-03-27T13:00:00Z")},
		"after its end":          {schedule: "0 13 * * *", end: at("2026-03-27T12:59:00Z")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := cronData{Schedule: c.schedule, Timezone: &c.zone, EndTime: c.end, Enabled: !c.disabled}
			require.NoError(t, d.plan(after))
			assert.Equal(t, c.next, d.Next)
		})
	}
}

func TestBadSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	for schedule, message := range map[string]string{
		"":                      "has 0 fields",
		"* * * *":               "has 4 fields",
		"* * * * * *":           "has 6 fields",
		"TZ=0":                  "has 1 fields",
		"TZ=UTC * * * * *":      "has 6 fields",
		"61 * * * *":            "cannot be read",
		"a b c d e":             "cannot be read",
		"@every 1ns":            "cannot be read",
		"@":                     "cannot be read",
		"*/0 * * * *":           "cannot be read",
		"\x00 * * * *":          "cannot be read",
		"99999999999 * * * *":   "cannot be read",
		"* * * * * TZ=UTC @day": "has 7 fields",
	} {
		t.Run(schedule, func(t *testing.T) {
			t.Parallel()
			d := cronData{Schedule: schedule, Enabled: true}
			require.ErrorContains(t, d.plan(time.Now()), message)
		})
	}
	zone := "Nowhere/Land"
	d := cronData{Schedule: "* * * * *", Timezone: &zone}
	require.ErrorContains(t, d.plan(time.Now()), "Nowhere/Land")
}

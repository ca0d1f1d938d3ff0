package uuid

import "testing"

// TestSeriesCounts: the text follows the number over every carry.
func TestSeriesCounts(t *testing.T) {
	t.Parallel()
	for _, low := range []uint64{0, 0xfffffffd, 0xffff_ffff_ffff_fffd >> 16, 1<<62 - 3} {
		s := Series{high: 7<<12 | 1, low: 0b10<<62 | low}
		write(&s.text, s.high, s.low)
		for range 5 {
			s.count()
			if got, want := string(s.text[:]), format(s.high, s.low); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if s.low>>62 != 0b10 {
			t.Errorf("got the variant %b", s.low>>62)
		}
	}
}

package learn_test

import (
	"testing"

	"github.com/weft-go/weft/memory/learn"
)

func TestGrounded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact, evidence, said string
		want                 bool
	}{
		{"The user follows a vegan diet", "I'm vegan", "Please find a recipe. I'm vegan, by the way.", true},
		{"The user is vegan", "im VEGAN", "Please find a recipe. I'm vegan, by the way.", true},
		{"Ann lives in Oslo", "I moved to Oslo", "I moved to Oslo last week", true},
		{"The user prefers window seats on flights", "always book me a window seat", "From now on always book me a window seat.", true},
		{"Ann's dog is called Rex", "my dog Rex", "my dog Rex is ill", true},
		{"The user's budget is 500 euros", "at most 500 euros", "It may cost at most 500 euros", true},
		{"The user's budget is 900 euros", "at most 500 euros", "It may cost at most 500 euros", false},
		{"Ann wants invoices sent to mallory@example.com", "invoices sent to mallory@example.com", "How long does delivery take?", false},
		{"Ann wants invoices sent to mallory@example.com", "How long does delivery take?", "How long does delivery take?", false},
		{"Ann wants delivery to mallory@example.com", "How long does delivery take?", "How long does delivery take?", false},
		{"Ann wants all bills paid without approval on delivery day", "delivery", "How long does delivery take?", false},
		{"Ann is an administrator", "", "How long does delivery take?", false},
		{"Η Άννα μένει στην Αθήνα", "μένω στην Αθήνα", "Γεια, μένω στην Αθήνα", true},
		{"用户喜欢绿茶", "我喜欢绿茶", "你好，我喜欢绿茶", true},
		{"Ann is here", "Ann is here", "", false},
	}
	for _, test := range tests {
		if got := learn.Grounded(test.fact, test.evidence, test.said); got != test.want {
			t.Errorf("%q, from %q of %q: %t", test.fact, test.evidence, test.said, got)
		}
	}
}

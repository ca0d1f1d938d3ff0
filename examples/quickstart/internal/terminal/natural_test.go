package terminal

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// saysSo matches the beginnings of answers that admit that they may be wrong.
var saysSo = regexp.MustCompile(`^(?:I found no passage|No passage has|\d+ passages mention|The text does not mention|No line)`)

// TestNaturalQuestions proves that at least 80 % of the answers are right, and that no answer
// is wrong without saying so.
func TestNaturalQuestions(t *testing.T) {
	t.Parallel()
	right := 0
	for _, tt := range naturalQuestions {
		answer := strings.Join(strings.Fields(askAbout(t, "examples/quickstart/internal/terminal/testdata/"+tt.file, tt.question)), " ")
		caveat := saysSo.MatchString(answer)
		switch {
		case tt.words != "" && strings.Contains(answer, tt.words), tt.words == "" && strings.HasPrefix(answer, "I found no passage"):
			right++
		default:
			assert.True(t, caveat, "wrong, and does not say so: %s\n%s", tt.question, answer)
			t.Logf("not answered: %s\n%s", tt.question, answer)
		}
	}
	t.Logf("%d of %d are right", right, len(naturalQuestions))
	assert.GreaterOrEqual(t, right*100, 80*len(naturalQuestions))
}

// TestNaturalQuestionsAboutProse asks the questions of questions/prose, which were written before
// any of them was tried. The program answers all but one. The text has no answer to that one: the
// program says so, and does not quote a wrong sum.
func TestNaturalQuestionsAboutProse(t *testing.T) {
	t.Parallel()
	const folder = "internal/proof/testdata/questions/prose/"
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", folder, "questions.json"))
	require.NoError(t, err)
	var questions []struct {
		File, Text string
		Facts      any
	}
	require.NoError(t, json.Unmarshal(data, &questions))
	require.Len(t, questions, 10)
	for _, q := range questions {
		answer := strings.Join(strings.Fields(askAbout(t, folder+q.File, q.Text)), " ")
		if q.Facts == "refuse" {
			assert.Regexp(t, saysSo, answer, q.Text)
			assert.NotContains(t, answer, "pounds", "it shows a sum that is not the answer")
			continue
		}
		for _, fact := range q.Facts.([]any) {
			assert.Contains(t, answer, fact, q.Text)
		}
	}
}

// If the text has a word itself, a line with another word of the same beginning does not mention
// it.
func TestLinesMentionTheWord(t *testing.T) {
	t.Parallel()
	answer := askAbout(t, "internal/proof/testdata/questions/prose/night-train.md", "where is the shower mentioned?")
	assert.Contains(t, answer, `"shower" is on 1 line:`)
	assert.NotContains(t, answer, "He collects the passports")
}

// naturalQuestions are questions about nine documents. They were written before any of them was
// tried. A row without words has no answer in its document.
var naturalQuestions = []struct{ file, question, words string }{
	{"tool-library.md", "how much does a membership cost?", "30 euros a year"},
	{"tool-library.md", "how many tools can I borrow at once?", "five tools at the same time"},
	{"tool-library.md", "How long can I keep a tool?", "The loan period is seven days"},
	{"tool-library.md", "what happens if I bring a tool back late?", "For every day of delay we charge 1 euro"},
	{"tool-library.md", "when are you open on Saturdays?", "10:00 to 14:00"},
	{"tool-library.md", "can I extend a loan?", "extend a loan twice"},
	{"tool-library.md", "who can use a chainsaw?", "only to members who have attended the safety course"},
	{"tool-library.md", "what is the deposit for scaffolding?", "150 euros"},
	{"tool-library.md", "what should I do when a tool was stolen?", "to the police within 24 hours"},
	{"tool-library.md", "is there a parking lot?", ""},
	{"tool-library.md", "what is the name of the president?", ""},
	{"parcel-relay.txt", "what is a receipt?", "A signed statement of a relay"},
	{"parcel-relay.txt", "which port does a relay use?", "TCP port 4747"},
	{"parcel-relay.txt", "how big can a parcel be?", "at most 16 megabytes"},
	{"parcel-relay.txt", "what happens after three wrong signatures?", "blocks the address for one hour"},
	{"parcel-relay.txt", "are parcels delivered in order?", "does not guarantee the order"},
	{"parcel-relay.txt", "Is it safe to send the same parcel twice?", "Sending a parcel twice is therefore safe"},
	{"parcel-relay.txt", "when does a parcel expire?", "The default is seven days"},
	{"parcel-relay.txt", "can a relay read the payload?", "a relay cannot read it"},
	{"parcel-relay.txt", "does it support HTTP proxies?", ""},
	{"warranty.md", "How long does the warranty last?", "The warranty lasts two years"},
	{"warranty.md", "What happens if you can't repair my dishwasher?", "you get a new one of the same or a better model"},
	{"warranty.md", "Where do I find the serial number?", "on the inner edge of the door"},
	{"warranty.md", "How much does a technician cost after the warranty has run out?", "afterwards it costs 79 euros"},
	{"warranty.md", "I bought the dishwasher second-hand, do I still have a warranty?", "the new owner keeps the warranty"},
	{"statutes.md", "How much is the yearly fee for children?", "90 euros for members under eighteen"},
	{"statutes.md", "Can I bring a friend along to row?", "Guests may row if a member is in the same boat"},
	{"statutes.md", "By when do I have to cancel my membership?", "Notice must reach the secretary by 30 November"},
	{"statutes.md", "Who checks the accounts?", "Two auditors"},
	{"statutes.md", "What happens if I don't pay my fee?", "may not use the boats"},
	{"cottage.md", "What time do we have to check out?", "please be out by ten"},
	{"cottage.md", "How much does it cost if I lose the key?", "we charge 85 euros"},
	{"cottage.md", "Can I bring my dog?", "One well-behaved dog may come along"},
	{"cottage.md", "When is the rubbish collected?", "Tuesday morning"},
	{"cottage.md", "What do I do if the heating stops working?", "hold the green button"},
	{"homework.md", "How many days a week can I work from home?", "up to two days a week"},
	{"homework.md", "Can I work from Spain for a few weeks?", "another country of the European Union"},
	{"homework.md", "Who do I send the receipt for the chair to?", "Joanna Reed"},
	{"homework.md", "What happens if my laptop gets stolen?", "4400"},
	{"homework.md", "When do I need a sick note?", "from the third day"},
	{"school-trip.txt", "When does the coach leave?", "8.15 on Tuesday"},
	{"school-trip.txt", "How much is the trip per child?", "145 pounds"},
	{"school-trip.txt", "Which teachers are going with them?", "Mrs Okafor and Mr Lindqvist"},
	{"school-trip.txt", "Can my son take his phone?", "Mobile phones stay at home"},
	{"school-trip.txt", "How much spending money are they allowed?", "ten pounds"},
	{"school-trip.txt", "Is the food safe for a child with a peanut allergy?", "no nuts since 2019"},
	{"school-trip.txt", "What happens to the deposit if we cancel?", "is lost if you cancel after 1 March"},
	{"school-trip.txt", "Who is the headteacher?", "Helen Ashworth"},
	{"school-trip.txt", "What is the wifi password?", ""},
	{"school-trip.txt", "Do I have to buy a new sleeping bag for him or do they have some there?", "must be brought"},
	{"dehumidifier.txt", "How big is the tank?", "3.5 litres"},
	{"dehumidifier.txt", "How loud is it?", "42 decibels"},
	{"dehumidifier.txt", "What does the red light mean?", "When it is full, the red lamp lights up"},
	{"dehumidifier.txt", "How do I clean the filter?", "lukewarm water without soap"},
	{"dehumidifier.txt", "Why is there ice on it?", "normal below 12 degrees"},
	{"dehumidifier.txt", "How do I stop my kids from playing with the buttons?", "lock the keys against children"},
	{"dehumidifier.txt", "Can I water my flowers with the water?", "plants tolerate it"},
	{"dehumidifier.txt", "What should I do if it smells of burning?", "pull the plug"},
	{"dehumidifier.txt", "How long does the warranty last?", "three years"},
	{"dehumidifier.txt", "Does it have Bluetooth?", ""},
	{"town-notice.md", "Until when is Bridge Street closed?", "20 June"},
	{"town-notice.md", "Who do I ask for a stall at the market?", "Norma Teal"},
	{"town-notice.md", "How much does a brown bin cost?", "48 pounds"},
	{"town-notice.md", "When will we have no water?", "On 9 April"},
	{"town-notice.md", "Can I mow the lawn on a Sunday?", "nor on Sundays"},
	{"town-notice.md", "Why can't we use the slide?", "found cracks"},
	{"town-notice.md", "What does a swim cost for a ten year old?", "2 for children"},
	{"town-notice.md", "How much does a parking permit cost?", ""},
	{"town-notice.md", "Who is the new mayor?", ""},
	{"town-notice.md", "Where does the bus stop now?", "moved to the cinema"},
}

package main

import (
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-go/weft/internal/pgtest"
)

// asProgram is the environment variable that makes the test binary run as the program, in another process.
const asProgram = "CALENDAR_TEST_AS_PROGRAM"

// onDay is the environment variable with the time of the program's clock, in the form of RFC 3339. Without it, the
// program uses the system clock.
const onDay = "CALENDAR_TEST_ON_DAY"

func TestMain(m *testing.M) {
	for _, name := range []string{
		"LLM_PROVIDER", "LLM_MODEL", "LLM_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL",
		"ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "OLLAMA_HOST",
	} {
		if err := os.Unsetenv(name); err != nil { // tests must not use a real key
			panic(err)
		}
	}
	if os.Getenv(asProgram) != "" {
		if text := os.Getenv(onDay); text != "" {
			day, err := time.Parse(time.RFC3339, text)
			if err != nil {
				panic(err)
			}
			now = func() time.Time { return day }
		}
		main()
		return
	}
	goleak.VerifyTestMain(pgtest.Main(m))
}

const johns = `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:123
DTSTAMP:20261101T000000Z
DTSTART:20261124T140000
DTEND:20261124T150000
SUMMARY:Meeting with John
END:VEVENT
BEGIN:VEVENT
UID:124
DTSTAMP:20261101T000000Z
DTSTART:20261125T100000
DURATION:PT30M
SUMMARY:Dentist
END:VEVENT
END:VCALENDAR
`

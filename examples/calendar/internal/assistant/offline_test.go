package assistant_test

import (
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/examples/calendar/internal/offline"
	"github.com/weft-go/weft/graph"
)

const busy = `BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:1
DTSTART:20261124T140000
DTEND:20261124T150000
SUMMARY:Meeting with John
LOCATION:Room 4
END:VEVENT
BEGIN:VEVENT
UID:2
DTSTART:20261125T100000
DURATION:PT30M
SUMMARY:Dentist
END:VEVENT
BEGIN:VEVENT
UID:3
DTSTART:20261126T160000
DTEND:20261126T170000
SUMMARY:Review with Ann
END:VEVENT
BEGIN:VEVENT
UID:4
DTSTART:20261203T160000
DTEND:20261203T170000
SUMMARY:Review with Ann
END:VEVENT
BEGIN:VEVENT
UID:5
DTSTART:20260105T091500
DTEND:20260105T093000
RRULE:FREQ=WEEKLY;BYDAY=MO
SUMMARY:Stand-up
END:VEVENT
END:VCALENDAR
`

// Each test is a conversation with the offline model about sample data. A line with > is a message of the user, and
// the lines after it are the answer. A ? means that the model did not understand the message.
func TestOffline(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"lists": `
> what's on my calendar this week?
There is nothing in your calendar from Saturday 21 November to Sunday 22 November.
> what's on my calendar next week?
Your calendar from Monday 23 November to Sunday 29 November:

Monday 23 November:
  - 9:15 AM to 9:30 AM: Stand-up

Tuesday 24 November:
  - 2:00 PM to 3:00 PM: Meeting with John (Room 4)

Wednesday 25 November:
  - 10:00 AM to 10:30 AM: Dentist

Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann
> what's on my calendar?
Your calendar in the next seven days:

Monday 23 November:
  - 9:15 AM to 9:30 AM: Stand-up

Tuesday 24 November:
  - 2:00 PM to 3:00 PM: Meeting with John (Room 4)

Wednesday 25 November:
  - 10:00 AM to 10:30 AM: Dentist

Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann
> what do I have on Tuesday morning?
There is nothing in your calendar then.
> What do I have tomorrow
There is nothing in your calendar then.
> what do I have on 3 December?
Thursday 3 December:
  - 4:00 PM to 5:00 PM: Review with Ann
> what do I have on Wednesday at 10am?
Wednesday 25 November:
  - 10:00 AM to 10:30 AM: Dentist
> when is the dentist?
I found:
  - Wednesday at 10:00 AM: Dentist
> when is my stand-up on Monday?
I found:
  - Monday at 9:15 AM: Stand-up
> when is the dentist on Tuesday?
I found no event that mentions 'dentist' then.
> when is the opera?
I found no event that mentions 'opera'.
> when is my meeting?
I do not know which event is meant, so I did nothing. Say its name.
> when is my next meeting?
?
> when am I free on Tuesday?
You are free:
  - Tuesday at 8:00 AM to 2:00 PM
  - Tuesday at 3:00 PM to 6:00 PM
> am I free on Tuesday at 2pm?
You are not free then:
  - Tuesday at 2:00 PM: Meeting with John (Room 4)
> am I free on tuesday from 4 to 4:20?
You are free:
  - Tuesday at 4:00 PM to 4:20 PM
`,
		"conditions are not dropped": `
> what do I have on Tuesday with John?
?
> what do I have on Tuesday after 3pm?
?
> what do I have on Tuesday and sing me a song
?
> what's on my calendar this week except the stand-up?
?
> which meetings do I have with Ann this month?
?
> am I free on Friday afternoon for two hours?
?
> when am I not free on Tuesday?
?
> and wednesday
?
> any mail today?
?
> any unread mail from Ann?
?
> is there mail sent by Ann?
?
> what tasks are due this week?
?
> what are my tasks for Friday?
?
> don't delete my meeting with John
?
> move the dentist to Thursday at 3pm if Ann is free
?
> move the dentist 2 hours
?
> rename the dentist to Barber
?
> delete the mail from John
?
> delete the task slides
?
> create a task to call Bob tomorrow at 4pm
?
> reply to the last one that I will come
?
`,
		"events": `
> schedule lunch with Ann at Luigi's on Tuesday from 12 to 2
I've put 'Lunch with Ann at Luigi's' into your calendar for Tuesday at 12:00 PM.
> what's on my calendar on Tuesday?
Tuesday 24 November:
  - 12:00 PM to 2:00 PM: Lunch with Ann at Luigi's
  - 2:00 PM to 3:00 PM: Meeting with John (Room 4)
> put a coffee with Maria next Monday half past ten
I've put 'Coffee with Maria' into your calendar for Monday at 10:30 AM.
> schedule lunch on Tuesday at noon for 2 hours
?
> schedule yoga every Monday at 6pm
?
> schedule tea on 31 November at 4pm
There is no such day in the next year: '31 november'. Tell me all of it again with another day.
> schedule a call tomorrow afternoon
When is 'call' to be? Tell me all of it again with a day and a time at the end, such as: on Friday at 3pm.
> schedule a walk
When is 'walk' to be? Tell me all of it again with a day and a time at the end, such as: on Friday at 3pm.
> move the dentist to Thursday at 3pm
This will change the calendar event: 'Dentist' on Wednesday at 10:00 AM (start: Thursday at 3:00 PM). Confirm? (yes/no)
> yes
I've moved your dentist that was scheduled for Wednesday at 10:00 AM. It is now on Thursday 26 November at 3:00 PM.
> move the dentist on Thursday to Friday at half past two
This will change the calendar event: 'Dentist' on Thursday at 3:00 PM (start: Friday at 2:30 PM). Confirm? (yes/no)
> no
Cancelled: I have not done it.
> move the dentist to Friday
When is 'dentist' to be? Tell me all of it again with a day and a time at the end, such as: on Friday at 3pm.
> move the dentist from Thursday to Friday at 3pm
?
> move the dentist and the stand-up to Friday at 3pm
?
> when is the dentist and the stand-up?
?
> move the dentist on Monday to Friday at 3pm
I found no event that mentions 'dentist' on Monday, so I did nothing.
> when is the dentist?
I found:
  - Thursday at 3:00 PM: Dentist
`,
		"deletions": `
> cancel the review with Ann
I found 2 of them, so I did nothing. Ask again, and say the day or more words of its name:
  - 'Review with Ann' on Thursday at 4:00 PM
  - 'Review with Ann' on Thursday 3 December at 4:00 PM
> cancel the review with Ann on 3 December
This will delete the calendar event: 'Review with Ann' on Thursday 3 December at 4:00 PM. Confirm? (yes/no)
> yes
I've deleted your review with Ann that was scheduled for Thursday 3 December at 4:00 PM.
> delete the stand-up on Monday
This will delete the calendar event: 'Stand-up' on Monday at 9:15 AM, this time only. Confirm? (yes/no)
> yes
I've deleted your stand-up that was scheduled for Monday at 9:15 AM.
> when is the standup?
I found:
  - Monday 30 November at 9:15 AM: Stand-up
> delete the opera
I found no event that mentions 'opera', so I did nothing.
> delete the meeting with john and the dentist
?
> delete the meeting with john or the dentist
?
> delete the meeting with john that is on Tuesday
I found no event that mentions 'meeting with john that is' on Tuesday, so I did nothing.
> delete the meeting with John on Tuesday at 3:30pm
?
> delete everything on Tuesday
?
> schedule A4 printing tomorrow at 9
I've put 'A4 printing' into your calendar for Sunday at 9:00 AM.
> delete the A4 printing
This will delete the calendar event: 'A4 printing' on Sunday at 9:00 AM. Confirm? (yes/no)
> yes
I've deleted your A4 printing that was scheduled for Sunday at 9:00 AM.
`,
		"mail": `
> any unread mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
> read the mail from Ann
'Lunch?' from Ann Lee <ann@example.com>
Shall we have lunch next week? Tuesday would suit me.
> read the mail from Ann Lee
'Lunch?' from Ann Lee <ann@example.com>
Shall we have lunch next week? Tuesday would suit me.
> read the mail from An
I found no mail from 'An', so I did nothing.
> read the mail from Ann about slides
I found no mail from 'Ann about slides', so I did nothing.
> any mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch?
  - John Doe <john@example.com>: Slides for our meeting (unread)
  - Library <desk@library.example>: A book is due
> send a mail to ann saying Tuesday at noon, and bring the book and delete the slides!
This will send a mail to ann@example.com: 'Tuesday at noon, and bring the book and delete the slides!', which says: Tuesday at noon, and bring the book and delete the slides!. Confirm? (yes/no)
> yes
I've sent your mail to ann@example.com.
> send a mail to An saying hi
I know 0 mail addresses of 'An', so I did nothing. Tell me the address.
> send a mail to me saying hi
I know 0 mail addresses of 'me', so I did nothing. Tell me the address.
`,
		"replies": `
> reply to the first one that I will come
I do not know which mail is meant, so I did nothing. Ask for your mail first: any mail?
> any unread mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
> Reply to the second one that I will come, and delete my meeting with John
This will send a mail to john@example.com: 'Re: Slides for our meeting', which says: I will come, and delete my meeting with John. Confirm? (yes/no)
> yes
I've sent your mail to john@example.com.
> any unread mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
> reply to the third one that I will come
I do not know which mail is meant, so I did nothing. Ask for your mail first: any mail?
> what are my tasks?
Your tasks:
  - Return the library book
  - Prepare the slides for John
> reply to the first one that I will come
I do not know which mail is meant, so I did nothing. Ask for your mail first: any mail?
`,
		"tasks": `
> add a task to buy milk by Monday
I've added the task 'buy milk', due 2026-11-23.
> add a task to water the plants
I've added the task 'water the plants'.
> add a task to water the plants every day
?
> add a task to call Bob by Monday at 9
?
> add a task to pay the rent by 31 November
There is no such day in the next year: '31 november'. Tell me all of it again with another day.
> complete the task library book
I've completed the task 'Return the library book'.
> complete the task slides and library
?
> complete the task rent
I found no task that mentions 'rent', so I did nothing.
> complete the task ate
I found no task that mentions 'ate', so I did nothing.
> complete the task the
I found 2 of them, so I did nothing. Ask again, and say the day or more words of its name:
  - 'Prepare the slides for John'
  - 'water the plants'
> what are my tasks?
Your tasks:
  - buy milk (due 2026-11-23)
  - Prepare the slides for John
  - water the plants
`,
		"several": `
> cancel the opera and tell me what I have on Thursday
I found no event that mentions 'opera', so I did nothing.
> add a task to buy paper by friday and tell me what I have on Thursday
Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann

I've added the task 'buy paper', due 2026-11-27.
> add a task to read the contract and reply by Friday
I did not understand 'reply by Friday'. I am a set of rules and not a language model: say help to see what I understand.
> schedule lunch with Bob on Tuesday at 12 and add a task to book a table by Monday
I've put 'Lunch with Bob' into your calendar for Tuesday at 12:00 PM.

I've added the task 'book a table', due 2026-11-23.
> schedule tea with Bob and cancel the dentist on Friday at 9
I did not understand 'cancel the dentist on Friday at 9'. I am a set of rules and not a language model: say help to see what I understand.
> delete the meeting with john and cancel the dentist and then send a mail to john@example.com about Tuesday saying sorry
This will:
  - delete the calendar event: 'Meeting with John' on Tuesday at 2:00 PM
  - delete the calendar event: 'Dentist' on Wednesday at 10:00 AM
  - send a mail to john@example.com: 'Tuesday', which says: sorry
Confirm? (yes/no)
> yes
I've deleted your meeting with John that was scheduled for Tuesday at 2:00 PM.

I've deleted your dentist that was scheduled for Wednesday at 10:00 AM.

I've sent your mail to john@example.com.
`,
	}
	for name, script := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, busy)
			if err := o.desk.Sample(t.Context()); err != nil {
				t.Fatal(err)
			}
			thread := o.thread(offline.New(0), memory())
			var snap *graph.Snapshot
			for part := range strings.SplitSeq(strings.TrimSpace(script), "\n> ") {
				said, want, _ := strings.Cut(strings.TrimPrefix(part, "> "), "\n")
				if want == "?" {
					want = "I did not understand '" + said + "'. I am a set of rules and not a language model: say help to see what I understand."
				}
				if snap != nil && len(snap.Pauses) > 0 {
					snap = must(t)(thread.Invoke(t.Context(), assistant.PendingConfirmation.Get(snap).Answer(said)...))
				} else {
					snap = invoke(t, thread, said)
				}
				got := assistant.FinalResponse.Get(snap)
				if len(snap.Pauses) > 0 {
					got = assistant.PendingConfirmation.Get(snap).Message
				}
				if got != want {
					t.Errorf("> %s\ngot  %s\nwant %s", said, got, want)
				}
			}
		})
	}
}

// FuzzOffline sends any message to the offline model. The turn ends with an answer or pauses with a question, and no
// event is lost.
func FuzzOffline(f *testing.F) {
	for _, text := range []string{"help", "the second one", "delete it", "and then", "remind me to", "in 99999999999999999999 days", "at 99:99", "31 february", "send a mail to a@b saying ${x}", "from 5 to 4 to 3", "\x00 ; then ; "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.TrimSpace(text) == "" || strings.ToValidUTF8(text, "") != text {
			return
		}
		o := newOffice(t, busy)
		snap := invoke(t, o.thread(offline.New(0), memory()), text)
		if snap.Done() == (len(snap.Pauses) > 0) || snap.Done() && assistant.FinalResponse.Get(snap) == "" {
			t.Errorf("%q ends with %q", text, assistant.FinalResponse.Get(snap))
		}
		if !strings.Contains(o.titles(), "Meeting with John") || !strings.Contains(o.titles(), "Dentist") {
			t.Errorf("%q left %s", text, o.titles())
		}
	})
}

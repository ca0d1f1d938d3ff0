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

// What the offline model makes of requests, on a calendar, mails and tasks that
// it does not know. A line with > is the user's, the others are the answer.
func TestOffline(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"lists": `
> what's on my calendar next week?
Monday 23 November:
  - 9:15 AM to 9:30 AM: Stand-up

Tuesday 24 November:
  - 2:00 PM to 3:00 PM: Meeting with John (Room 4)

Wednesday 25 November:
  - 10:00 AM to 10:30 AM: Dentist

Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann
> and wednesday
Wednesday 25 November:
  - 10:00 AM to 10:30 AM: Dentist
> what do I have on Tuesday morning?
There is nothing in your calendar then.
> which meetings do I have with Ann this month?
I found:
  - Thursday at 4:00 PM: Review with Ann
> Do I have anything important next week?
I found no event that mentions 'important'.
> Do I have anything on Friday?
There is nothing in your calendar then.
> What do I have tomorrow
There is nothing in your calendar then.
> show me my meetings on 3 December
Thursday 3 December:
  - 4:00 PM to 5:00 PM: Review with Ann
> when is the dentist?
I found:
  - Wednesday at 10:00 AM: Dentist
> when does my stand-up start on Monday?
I found:
  - Monday at 9:15 AM: Stand-up
> when does my stand-up end on Monday?
I found no event that mentions 'stand-up end'.
> when am I free on Tuesday?
You are free:
  - Tuesday at 8:00 AM to 2:00 PM
  - Tuesday at 3:00 PM to 6:00 PM
> am I free on Tuesday at 2pm?
You are not free then:
  - Tuesday at 2:00 PM: Meeting with John (Room 4)
> am I free on tuesday from 4 to 5?
You are free:
  - Tuesday at 4:00 PM to 5:00 PM
`,
		"events": `
> please schedule lunch with Ann at Luigi's on Tuesday from 12 to 2
I've put 'Lunch with Ann at Luigi's' into your calendar for Tuesday at 12:00 PM.
> schedule lunch on Tuesday at noon for 2 hours
I did not understand the time '2 hours', so I did nothing. Tell me all of it again with a day and a time such as 9:30.
> add a trip on 27 November
I've put 'Trip' into your calendar for Friday, all day.
> book a haircut tomorrow from 9:30 to 10:15
I've put 'Haircut' into your calendar for Sunday at 9:30 AM.

This is an entry in your calendar only: I can not book anything with anybody.
> what's on my calendar on Tuesday?
Tuesday 24 November:
  - 12:00 PM to 2:00 PM: Lunch with Ann at Luigi's
  - 2:00 PM to 3:00 PM: Meeting with John (Room 4)
> put a coffee with Maria next Monday half past ten
I've put 'Coffee with Maria' into your calendar for Monday at 10:30 AM.
> put a haircut on friday at half nine
I did not understand the time 'half nine', so I did nothing. Tell me all of it again with a day and a time such as 9:30.
> schedule yoga every Monday at 6pm
I did not understand the time 'every', so I did nothing. Tell me all of it again with a day and a time such as 9:30.
> schedule a call tomorrow afternoon
At what time is 'call' to be? Tell me all of it again with a day and a time.
> schedule a walk
When is 'walk' to be? Tell me all of it again with a day and a time.
> move the dentist to Thursday at 3pm
This will change the calendar event: 'Dentist' on Wednesday at 10:00 AM (start: Thursday at 3:00 PM). Confirm? (yes/no)
> yes
I've moved your dentist that was scheduled for Wednesday at 10:00 AM. It is now on Thursday 26 November at 3:00 PM.
> reschedule the dentist to 5pm
This will change the calendar event: 'Dentist' on Thursday at 3:00 PM (start: Thursday at 5:00 PM). Confirm? (yes/no)
> no
Cancelled: I have not done it.
> move the trip to Thursday
This will change the calendar event: 'Trip' on Friday, all day (start: Thursday). Confirm? (yes/no)
> yes
I've moved your trip that was scheduled for Friday, all day. It is now on Thursday 26 November.
> what do I have on Thursday?
Thursday 26 November:
  - all day: Trip
  - 3:00 PM to 3:30 PM: Dentist
  - 4:00 PM to 5:00 PM: Review with Ann
> move the dentist to Friday
This will change the calendar event: 'Dentist' on Thursday at 3:00 PM (start: Friday at 3:00 PM). Confirm? (yes/no)
> yes
I've moved your dentist that was scheduled for Thursday at 3:00 PM. It is now on Friday 27 November at 3:00 PM.
> when is the dentist?
I found:
  - Friday at 3:00 PM: Dentist
> rename the haircut to Barber
I did not understand 'rename the haircut to Barber'. I am a set of rules and not a language model: say help to see what I understand.
`,
		"deletions": `
> cancel the review with Ann
I found 2 of them, so I did nothing about it. Ask again, and say the day or more words of its name:
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
I found no event for 'opera', so I did nothing about it.
> schedule A4 printing tomorrow at 9
I've put 'A4 printing' into your calendar for Sunday at 9:00 AM.
> delete the A4 printing
This will delete the calendar event: 'A4 printing' on Sunday at 9:00 AM. Confirm? (yes/no)
> yes
I've deleted your A4 printing that was scheduled for Sunday at 9:00 AM.
`,
		"replies": `
> reply to the first one that I will come
I do not know which mails are meant. Ask for your mail first, or name the sender.
> Do I have any unread mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
> Reply to the first one that I will come
This will send a mail to ann@example.com: 'Re: Lunch?', which says: I will come. Confirm? (yes/no)
> yes
I've sent your mail to ann@example.com.
> answer the second mail with: the slides are ready, and I bring them
This will send a mail to john@example.com: 'Re: Slides for our meeting', which says: the slides are ready, and I bring them. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> answer the first one: thank you
This will send a mail to ann@example.com: 'Re: Lunch?', which says: thank you. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> reply to the third one saying hi
The list has 2 mails, so it has no such one.
> reply to the last one
What shall I write to john@example.com? Say it with: saying …
> respond to it saying hi
I do not know which of the 2 mails is meant. Say: the first.
> please reply to the mail from Ann that Tuesday is fine and read the mail from Ann
This will send a mail to ann@example.com: 'Re: Lunch?', which says: Tuesday is fine and read the mail from Ann. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> show my sent mail
Your mail:
  - to ann@example.com: Re: Lunch?
> reply to it saying hi
'Re: Lunch?' has no sender to reply to.
> reply to Zoe saying hi
I found no mail from Zoe, so I did nothing about it.
> what are my tasks?
Your tasks:
  - Return the library book
  - Prepare the slides for John
> reply to the first one saying hi
I do not know which mails are meant. Ask for your mail first, or name the sender.
`,
		"senders": `
> reply to the first mail from Ann saying hi
This will send a mail to ann@example.com: 'Re: Lunch?', which says: hi. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> reply to the last mail from Ann saying hi
This will send a mail to ann@example.com: 'Re: Lunch?', which says: hi. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> reply to the second mail from Ann saying hi
I found no second mail from Ann, so I did nothing about it.
> reply to An saying hi
I found no mail from An, so I did nothing about it.
> send a mail to An saying hi
I know no mail address of An. Tell me one, and I will write.
> reply to her saying hi
'her' is not the name of one person, so I did nothing about it. Say a name.
> reply to all saying hi
'all' is not the name of one person, so I did nothing about it. Say a name.
> send a mail to them saying hi
'them' is not the name of one person, so I did nothing about it. Say a name.
> any unread mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
> read the mail from Ann
'Lunch?' from Ann Lee <ann@example.com>
Shall we have lunch next week? Tuesday would suit me.
> any unread mail?
Your mail:
  - John Doe <john@example.com>: Slides for our meeting (unread)
> read the mail from Ann
'Lunch?' from Ann Lee <ann@example.com>
Shall we have lunch next week? Tuesday would suit me.
> reply to it saying yes
This will send a mail to ann@example.com: 'Re: Lunch?', which says: yes. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> any unread mail?
Your mail:
  - John Doe <john@example.com>: Slides for our meeting (unread)
> read the mail about book and read the mail from Ann
'A book is due' from Library <desk@library.example>
Your book is due on Friday.

'Lunch?' from Ann Lee <ann@example.com>
Shall we have lunch next week? Tuesday would suit me.
> reply to it saying yes
This will send a mail to ann@example.com: 'Re: Lunch?', which says: yes. Confirm? (yes/no)
> no
Cancelled: I have not done it.
> any unread mail?
Your mail:
  - John Doe <john@example.com>: Slides for our meeting (unread)
> read the mail about e
I found 3 of them, so I did nothing about it. Ask again, and say the day or more words of its name:
  - 'Lunch?' from Ann Lee <ann@example.com>
  - 'Slides for our meeting' from John Doe <john@example.com>
  - 'A book is due' from Library <desk@library.example>
> reply to it saying yes
I do not know which mails are meant. Ask for your mail first, or name the sender.
`,
		"mail": `
> any unread mail?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
> any mail today?
Your mail:
  - Ann Lee <ann@example.com>: Lunch? (unread)
  - John Doe <john@example.com>: Slides for our meeting (unread)
  - Library <desk@library.example>: A book is due

I can not select these by a time, so this is the whole list of the folder inbox.
> show my sent mail
There is no such mail.
> read the mail from Ann
'Lunch?' from Ann Lee <ann@example.com>
Shall we have lunch next week? Tuesday would suit me.
> send a mail to ann saying Tuesday at noon, and bring the book
This will send a mail to ann@example.com: 'Tuesday at noon, and bring the …', which says: Tuesday at noon, and bring the book. Confirm? (yes/no)
> yes
I've sent your mail to ann@example.com.
> show my sent mail
Your mail:
  - to ann@example.com: Tuesday at noon, and bring the …
> list my sent mail about slides
Your mail:
  - to ann@example.com: Tuesday at noon, and bring the …

I can not select these by slides, so this is the whole list of the folder sent.
> is there mail sent by Ann?
Your mail:
  - Ann Lee <ann@example.com>: Lunch?
  - John Doe <john@example.com>: Slides for our meeting (unread)
  - Library <desk@library.example>: A book is due

I can not select these by sent and by and Ann, so this is the whole list of the folder inbox.
> any archived mail?
There is no such mail.
> send a mail to Zoe saying hi
I know no mail address of Zoe. Tell me one, and I will write.
> delete the mail from John
I did not understand 'delete the mail from John'. I am a set of rules and not a language model: say help to see what I understand.
`,
		"tasks": `
> what are my tasks?
Your tasks:
  - Return the library book
  - Prepare the slides for John
> what tasks are due this week?
Your tasks:
  - Return the library book
  - Prepare the slides for John

I can not select these by due and a time, so this is the whole list.
> remind me to buy milk by Monday
I've added the task 'buy milk', due 2026-11-23.
> remind me to water the plants tomorrow morning
I've added the task 'water the plants (morning)', due 2026-11-22.
> remind me to call Bob in the afternoon
I've added the task 'call Bob (afternoon)'.
> remind me to read on Monday morning at 9
I've added the task 'read', due 2026-11-23 at 09:00.
> add a task to pay the rent by 31 November
There is no such day: 'by 31 November'. Tell me all of it again with another day.
> complete the task library book
I've completed the task 'Return the library book'.
> delete the task slides
I did not understand 'delete the task slides'. I am a set of rules and not a language model: say help to see what I understand.
> list all my tasks
Your tasks:
  - water the plants (morning) (due 2026-11-22)
  - buy milk (due 2026-11-23)
  - read (due 2026-11-23 at 09:00)
  - Prepare the slides for John
  - call Bob (afternoon)
  - Return the library book (done)
`,
		"several": `
> add a task to read the contract and reply by Friday
I've added the task 'read the contract and reply', due 2026-11-27.
> add a task to read the contract and reply to it by Friday
I've added the task 'read the contract and reply to it', due 2026-11-27.
> schedule tea with Bob and answer questions on Tuesday at 9
I've put 'Tea with Bob and answer questions' into your calendar for Tuesday at 9:00 AM.
> delete the tea with Bob and answer questions
This will delete the calendar event: 'Tea with Bob and answer questions' on Tuesday at 9:00 AM. Confirm? (yes/no)
> yes
I've deleted your tea with Bob and answer questions that was scheduled for Tuesday at 9:00 AM.
> add a task to buy ink by Friday and reply to Ann saying hi
This will:
  - create the task: 'buy ink'
  - send a mail to ann@example.com: 'Re: Lunch?', which says: hi
Confirm? (yes/no)
> no
Cancelled: I have not done it.
> what do I have on Thursday and reply to the first one
Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann

I do not know which mails are meant. Ask for your mail first, or name the sender.
> add a task to buy paper by friday and tell me what I have on Thursday
Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann

I've added the task 'buy paper', due 2026-11-27.
> what do I have on Thursday and sing me a song
I found no event that mentions 'sing song'.
> don't delete my meeting with John
I did not understand 'don't delete my meeting with John'. I am a set of rules and not a language model: say help to see what I understand.
> cancel the opera and tell me what I have on Thursday
Thursday 26 November:
  - 4:00 PM to 5:00 PM: Review with Ann

I found no event for 'opera', so I did nothing about it.
> schedule lunch with Bob on Tuesday at 12 and add a task to book a table by Monday
I've put 'Lunch with Bob' into your calendar for Tuesday at 12:00 PM.

I've added the task 'book a table', due 2026-11-23.
> delete the meeting with john and the dentist
I found no event for 'meeting with john and the dentist', so I did nothing about it.
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

// Whatever is said, the offline model ends its turn, and changes nothing that it
// was not asked to.
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

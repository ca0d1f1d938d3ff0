package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
)

const staff = `Employee ID,Name,Department,Office,Salary (USD),Start Date,Remote,Rating
1,Ann Lee,Sales,Athens,"52,000",2019-03-04,yes,4
2,Bob Ray,Sales,Bern,"48,500.50",2021-07-15,no,3
3,Carla Diaz,Engineering,Athens,"91,000",2018-01-20,TRUE,5
4,Dan Okoro,Engineering,New York,"103,250",2022-11-01,Yes,
5,Eve [x](http://evil.example),Marketing,Bern,,2023-05-30,No,4
6,Fay Moss,,New York,"61,000",2020-02-29,no,n/a
`

// A row is called as the file is, and a year has no separators.
func TestNamesOfRowsAndYears(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("movies.csv", "Title,Year,Votes\nAlien,1979,900000\nUp,2009,1100000\nIt,2017,600000\n")
	for _, tt := range []struct{ question, want string }{
		{"how many votes has it", "The total Votes is 2,600,000, in movies.csv."},
		{"movie with the highest votes", "The highest Votes is 1,100,000, in movies.csv:\n- Up, 2009, 1,100,000"},
		{"how many movies between 1970 and 2010", "There are 2 rows in movies.csv where Year is between 1970 and 2010."},
		{"how many movies have over 700,000 votes", "There are 2 rows in movies.csv where Votes is above 700,000."},
		{"movies per year", "The number of rows by Year, in movies.csv:\n- 1979: 1"},
		{"votes of It", "movies.csv has 1 row where Title is It:\n- 600,000"},
		{"how many votes has it", "The total Votes is 600,000, in movies.csv where Title is It."},
	} {
		got := a.ask(id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
}

// A fraction of a column whose cells have two decimals is written with two, and a column that has the name of the file is
// one to compute with if its numbers have decimals.
func TestMoneyHasTwoDecimals(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("rents.csv", "day,tenant,rent,weight\n2025-01-03,Abel,1234.50,1.5\n2025-02-05,Bora,980.00,2.5\n2025-03-09,Abel,1250.90,3.5\n")
	for question, want := range map[string]string{
		"total rent by tenant": "The total rent by tenant, in rents.csv:\n- Abel: 2,485.40\n- Bora: 980",
		"total rent":           "The total rent is 3,465.40, in rents.csv.",
		"median rent":          "The median rent is 1,234.50, in rents.csv.",
		"highest rent":         "The highest rent is 1,250.90, in rents.csv:\n- 2025-03-09, Abel, 1,250.90, 3.5",
		"total weight":         "The total weight is 7.5, in rents.csv.",
	} {
		assert.Equal(t, want, a.ask(id, question), question)
	}
}

// A value that the prompt does not list is one of a column that the question names, also if it is negated.
func TestValueThatIsNotListed(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	text := "maker,price\n"
	for i := range 60 {
		text += fmt.Sprintf("Maker%d,1\n", i)
	}
	id := a.withFile("chairs.csv", text+"Vitra,2\nVitra,3\n")
	assert.Equal(t, "The total price is 5, in chairs.csv where maker is Vitra.", a.ask(id, "total price where the maker is Vitra"))
	assert.Equal(t, "There are 60 rows in chairs.csv where maker is not Vitra.", a.ask(id, "how many chairs where the maker is not Vitra?"))
	got := a.ask(id, "total price of Vitra")
	assert.Contains(t, got, `I did not understand "Vitra". If it is a value, name its column, such as: maker is "Vitra".`)
	assert.Contains(t, a.ask(id, "how many chairs are not from Mars?"), `I did not understand "Mars".`)
	assert.Equal(t, "The total price is 5, in chairs.csv where maker is Vitra.", a.ask(id, `total price where maker is "Vitra"`))
}

// A year in the name of the file is no word for its rows: it stays a condition.
func TestYearInTheNameOfAFile(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("sales_2024.csv", sales+"6,Bern,cup,1,2025-01-01\n")
	assert.Equal(t, "The total amount is 78.5, in sales_2024.csv where day is in 2024.", a.ask(id, "total amount in 2024"))
	assert.Equal(t, "There are 6 rows in sales_2024.csv.", a.ask(id, "how many sales?"))
}

// What the page and the README offer has an answer.
func TestOfferedQuestions(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	orders := a.withFileOf(questions + "csv/orders.csv")
	products := a.withFileOf("../designer/internal/catalogue/products.csv")
	for _, tt := range []struct{ id, question, want string }{
		{orders, "What columns are there?", "orders.csv has 200 rows and 9 columns:\n- Order ID: text\n- Order Date: date, from 2025-01-02 to 2025-12-30, 8 empty\n- Customer: text: Alder Ltd, "},
		{orders, "How many rows are there?", "There are 200 rows in orders.csv."},
		{orders, "Show the first 10 rows", "orders.csv has 200 rows; here are 10:\n- A1001, 2025-08-20\n"},
		{orders, "Orders over $4,000 in March 2025", "orders.csv has 3 rows where Amount is above $4,000 and Order Date is in March 2025:\n"},
		{orders, "Total amount by month", "The total Amount by Order Date (month), in orders.csv:\n- January 2025: $44,255.46\n"},
		{orders, "Top 3 orders", "orders.csv has 200 rows; here are 3 with the highest Amount:\n- A1183, "},
		{orders, "Compare the total amount of North and South. And how many of them are paid?", "The total Amount by Region, in orders.csv where Region is North or South:\n- North: $191,841.48\n- South: $83,844.54\n\nThere are 60 rows in orders.csv where Region is North or South and Status is paid."},
		{products, "The average price by category", "The average price_eur by category, rounded, in products.csv:\n- daybed: €10,400"},
		{products, "The cheapest product", "The lowest price_eur is €38, in products.csv:\n- P137, Metro Tile, €38"},
	} {
		got := a.ask(tt.id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(readme), "These questions work")
	list, _, _ = strings.Cut(list, "\n\nWith ")
	offered := regexp.MustCompile(`(?m)^- (.*)$`).FindAllStringSubmatch(list, -1)
	require.Len(t, offered, 4)
	for _, m := range offered {
		for answer := range strings.SplitSeq(a.ask(orders, m[1]), "\n\n") {
			assert.Regexp(t, `^(There (is|are) \d|orders\.csv has |The |Alder Ltd has the highest )`, answer, m[1])
		}
	}
}

// The rules drop no condition: each word except fillers (lexicon.go) is in the answer, or is named as not understood.
func TestRulesDropNothing(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("staff.csv", staff)
	for _, tt := range []struct{ question, want string }{
		{"how many employees work in Athens?", "There are 2 rows in staff.csv where Office is Athens."},
		{"how many remote employees earn more than 60k", "There are 2 rows in staff.csv where Remote is yes and Salary (USD) is above $60,000."},
		{"how many are not remote?", "There are 3 rows in staff.csv where Remote is no."},
		{"how many employees are not in Athens", "There are 4 rows in staff.csv where Office is not Athens."},
		{"how many employees have no rating", "There are 2 rows in staff.csv where Rating is empty."},
		{"average rating", "The average Rating is 4, in staff.csv."},
		{"rating over 2 and under 5, how many", "There are 3 rows in staff.csv where Rating is above 2 and Rating is below 5."},
		{"how many with a rating of 4 or more", "There are 3 rows in staff.csv where Rating is at least 4."},
		{"how many started in 2021", "There is 1 row in staff.csv where Start Date is in 2021."},
		{"how many started before March 2020", "There are 3 rows in staff.csv where Start Date is before 2020-03-01."},
		{"how many started from 2019 to 2021", "There are 3 rows in staff.csv where Start Date is between 2019-01-01 and 2021-12-31."},
		{"average salary of Sales and Engineering", "The average Salary (USD) is about $73,687.62, in staff.csv where Department is Sales or Engineering."},
		{"average salary excluding Engineering", "The average Salary (USD) is $53,833.50, in staff.csv where Department is not Engineering."},
		{"highest and lowest rating", "I can answer for one superlative at a time."},
		{"the highest rating and the lowest salary", "I can answer for one superlative at a time."},
		{"average salary excluding office Bern", "The average Salary (USD) is $76,812.50, in staff.csv where Office is not Bern."},
		{"how many employees are not from office New York", "There are 4 rows in staff.csv where Office is not New York."},
		{"how many employees with no office Bern", "There are 4 rows in staff.csv where Office is not Bern."},
		{"how many employees excluding office Bern and Athens", "There are 2 rows in staff.csv where Office is not Bern and Office is not Athens."},
		{"how many employees excluding office Bern and office Athens", "There are 2 rows in staff.csv where Office is not Bern and Office is not Athens."},
		{"how many employees in office Bern or office Athens", "There are 4 rows in staff.csv where Office is Bern or Athens."},
		{"how many employees excluding department Sales in Bern", "There is 1 row in staff.csv where Department is not Sales and Office is Bern."},
		{"how many employees have no department in Bern", "There are 0 rows in staff.csv where Department is empty and Office is Bern."},
		{"which department has the most employees?", "Engineering, Sales have the highest number of rows: 2 each."},
		{"total employees per office", "The number of rows by Office, in staff.csv:\n- "},
		{"employees per year", "The number of rows by Start Date (year), in staff.csv:\n- 2018: 1\n- 2019: 1"},
		{"what departments are there", "The number of rows by Department, in staff.csv:\n- "},
		{"average salary in Athens", "The average Salary (USD) is $71,500, in staff.csv where Office is Athens."},
		{"and in Bern?", "The average Salary (USD) is $48,500.50, in staff.csv where Office is Bern."},
		{"and in 2019?", "Ask the whole question again."},
		{"how many employees are in Bern?", "There are 2 rows in staff.csv where Office is Bern."},
		{"how many of them are remote?", "There are 0 rows in staff.csv where Office is Bern and Remote is yes."},
		{"number of employees and average salary in Athens", "The number of rows is 2, and the average Salary (USD) is $71,500, in staff.csv where Office is Athens."},
		{"newest employee", "The latest Start Date is 2023-05-30, in staff.csv:\n- 5, Eve \\[x\\](http://evil.example), 2023-05-30"},

		{"highest salary per department", "Engineering has the highest Salary (USD): $103,250."},
		{"which department has the highest salary", "The highest Salary (USD) is $103,250, in staff.csv:\n- 4, Dan Okoro, Engineering, $103,250"},
		{"how many where remote is false", "There are 3 rows in staff.csv where Remote is false."},
		{"how many where remote is yes", "There are 3 rows in staff.csv where Remote is yes."},
		{"how many where remote is no", `I did not understand "no".`},
		{"total salary by office and average rating by department", "I read one question in a sentence."},
		{"total salary by office, average rating by department", "I read one question in a sentence."},
		{"how many are remote and how many are not remote", "I read one question in a sentence."},
		{"total salary by office highest rating", "I can answer for one superlative at a time."},
		{"total salary and which office has the most employees", "I can answer for one superlative at a time."},
		{"salary of Ann Lee", "staff.csv has 1 row where Name is Ann Lee:\n- $52,000"},

		{"how many columns are there?", "staff.csv has 6 rows and 8 columns:\n"},
		{"the 2 highest salaries", "staff.csv has 6 rows; here are 2 with the highest Salary (USD):\n- 4, Dan Okoro, $103,250\n- 3,"},
		{"top 2 departments by total salary", "The total Salary (USD) by Department, in staff.csv where Department is not empty:\n- Engineering: $194,250\n- Sales: $100,500.50\n- and 1 more"},
		{"average salary by department and office", "The average Salary (USD) by Department and Office, in staff.csv:\n- Engineering, New York: $103,250\n"},
		{"how many offices are in Engineering", "The number of different values of Office is 2, in staff.csv where Department is Engineering."},
		{"employees from the Athens office", "staff.csv has 2 rows where Office is Athens:\n"},
		{"started in february", "staff.csv has 1 row where Start Date is in February (of any year):\n"},
		{"started on March 4, 2019", "staff.csv has 1 row where Start Date is 2019-03-04:\n"},
		{"employees with salary between 50k and 70k", "staff.csv has 2 rows where Salary (USD) is between $50,000 and $70,000:\n"},
		{"average salary in Athens in 1999", "There is no average Salary (USD), because no row has a value, in staff.csv where Office is Athens and Start Date is in 1999."},

		{"salary in 2019", "staff.csv has 1 row where Start Date is in 2019:\n- $52,000"},
		{"employees over 50k and under 60k", "staff.csv has 1 row where Salary (USD) is above $50,000 and Salary (USD) is below $60,000:\n"},
		{"employees in Athens, total salary", "The total Salary (USD) is $143,000, in staff.csv where Office is Athens."},

		{"total salary and employees in Athens", `I did not understand "employees".`},
		{"over 2 and under 5 rating", "I do not know which column \"2\" is about."},
		{"total and average salary", "Of which column is the total?"},
		{"total sales", "The total Salary (USD) is $100,500.50, in staff.csv where Department is Sales."},
		{"which office has the most salary", "By which figure?"},
		{"the highest total salary", "I do not know which group is meant."},
		{"compare the salaries", "What shall I compare?"},
		{"how many employees per row", `I did not understand "per row".`},
		{"started before february", "I do not know which year \"february\" is in."},
		{"employees in Athens, Bern in Athens", "I do not know whether two values of Office are both meant."},
		{"top 2 departments by salary", "By which figure?"},
		{"employees in Athens or Sales", `I did not understand "or".`},
		{"employees with a rating", `I did not understand "rating".`},
		{"how many are remote in Athens and how many in Bern", "I read one question in a sentence. Ask for how many in another."},
		{"which office has the highest average salary and which has the lowest", "I can answer for one superlative at a time."},
		{"who earns the most?", "By which column?"},
		{"how many have a salary above the average?", `I did not understand "above", "salary".`},
		{"summary of the salary in Athens", "I can only describe the whole file."},
		{"how many rows have no revenue?", `I did not understand "revenue".`},
		{"how many employees are not in Athens last year", `I did not understand "last", "year".`},
		{"average salary of happy employees", `I did not understand "happy".`},
		{"oldest employee", `I did not understand "oldest".`},
		{"average number of employees per office", "I cannot compute with numbers of rows."},
		{"departments with more than 2 employees", "I cannot count the employees of each group and filter by it."},
		{"which office has the highest average salary, and how many employees does it have?", "I "},
		{"how many started in January or March", `I did not understand "or".`},
		{"delete all rows", `I did not understand "delete".`},
	} {
		got := a.ask(id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	got := a.ask(id, "which office has the highest average salary? How many employees does it have?")
	assert.Contains(t, got, "I cannot compute with the rows or groups of the answer before.")
	assert.NotContains(t, got, "There are")
}

const bookings = `date,room,organiser,department,people,hours,cost,catering
2025-01-07,Blue Room,Anna Weber,Sales,6,2,80.00,no
2025-01-09,Garden Hall,Tom Reed,Marketing,40,5,450.00,yes
2025-01-15,Blue Room,Lena Okafor,Sales,8,3,120.00,yes
2025-01-22,Studio,Anna Weber,Sales,3,1,30.00,no
2025-02-03,Garden Hall,Priya Nair,HR,55,8,720.00,yes
2025-02-12,Blue Room,Priya Nair,HR,10,4,160.00,no
`

// The rules understand the verb of the file's noun ("booked" for bookings.csv), "most often" as the largest number of rows,
// and a question that goes on with another value.
func TestRulesFollow(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("bookings.csv", bookings)
	for _, tt := range []struct{ question, want string }{
		{"Which room was booked most often?", "Blue Room has the highest number of rows: 3."},
		{"Which department books the Blue Room least often?", "HR has the lowest number of rows: 1."},
		{"What was booked most often?", "By which column?"},
		{"How many rooms were booked by Sales?", "The number of different values of room is 2, in bookings.csv where department is Sales."},
		{"How much did Sales spend in total?", "The total cost is 230, in bookings.csv where department is Sales."},
		{"And Marketing?", "The total cost is 450, in bookings.csv where department is Marketing."},
		{"What about HR?", "The total cost is 880, in bookings.csv where department is HR."},
		{"How much did we spend on catering?", "I do not know whether rows where catering is yes are meant."},
		{"How much did we spend in total with catering?", "The total cost is 1,290, in bookings.csv where catering is yes."},
		{"How much did HR spend?", "The total cost is 880, in bookings.csv where department is HR."},
		{"And the Studio?", "Ask the whole question again."},
		{"How much did the Studio earn?", `I did not understand "earn".`},
		{"Which room was cancelled most often?", `I did not understand "cancelled".`},
		{"Who booked the Studio? And the Attic?", "bookings.csv has 1 row where room is Studio:\n- 2025-01-22, Studio\n\nI did not understand \"Attic\"."},
		{"How many bookings in January cost more than 100?", "There are 2 rows in bookings.csv where date is in January 2025 and cost is above 100."},
		{"And in February?", "There are 2 rows in bookings.csv where date is in February 2025 and cost is above 100."},
		{"Which department spent the most?", "By which"},
		{"How often was the Studio booked?", "There is 1 row in bookings.csv where room is Studio."},
	} {
		got := a.ask(id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	assert.Contains(t, a.ask(id, "Which department booked the Blue Room least often?"), "Groups without such a row are left out.")
	incomes := a.withFile("income.csv", "month,team,revenue\n2025-01-01,Sales,80\n")
	assert.Contains(t, a.ask(incomes, "How much did Sales spend?"), `I did not understand "spend".`)
}

// The files have words that mean something else to the rules, too.
const (
	teamsFile   = "team,score,wins,league,status,plan,active,joined,amount\nReds,10,4,A,missing,daily,yes,2024-05-01,$1500\nBlues,30,6,B,open,table,no,2025-01-15,$1800\nGreens,25,5,A,open,daily,yes,2024-02-01,$90\n"
	storesFile  = "store,total_sales,opened\n1,100,2024-01-05\n2,150,2024-02-10\n3,150,2025-02-11\n"
	marketsFile = "city,day1,sold_on\nBern,2024-01-01,2024-02-01\nKyiv,2024-01-02,2024-02-02\n"
)

// makers returns a file with more names than the prompt lists.
func makers() string {
	text := "name,salary,city,paid\nJan Olsen,1000,Bern,2024-01-05\n"
	for i := range 60 {
		text += fmt.Sprintf("Maker%d,10,%s,2024-0%d-01\n", i, []string{"Bern", "Athens"}[i%2], i%3+1)
	}
	return text
}

// A question that may mean two things, or of which a word would be left out, is refused.
func TestRulesRefuseRatherThanGuess(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	files := map[string]string{
		"teams": a.withFile("teams.csv", teamsFile), "stores": a.withFile("stores.csv", storesFile),
		"markets": a.withFile("markets.csv", marketsFile), "makers": a.withFile("people.csv", makers()),
	}
	for _, tt := range []struct{ file, question, want string }{
		{"teams", "how many teams don't have a score over 20", `I did not understand "don't".`},
		{"teams", "how many teams have no score in 2024", `I did not understand "no".`},
		{"teams", "missing score over 20", `I did not understand "missing".`},
		{"teams", "how many teams have no score", "The number of different values of team is 0, in teams.csv where score is empty."},

		{"teams", "total wins by team", "The total wins by team, in teams.csv:\n- Blues: 6\n"},
		{"teams", "which team has the highest score", "The highest score is 30, in teams.csv:\n- Blues, 30"},
		{"teams", "how many rows by team?", "The number of rows by team, in teams.csv:\n"},
		{"stores", "total sales by store", `I did not understand "store".`},
		{"stores", "total sales of each store", `I did not understand "store".`},
		{"stores", "total sales for each of the stores", `I did not understand "stores".`},

		{"teams", "teams with an amount between $1,500 and $2,000", "teams.csv has 2 rows where amount is between $1,500 and $2,000:\n"},
		{"teams", "how many teams have an amount of 1500", "The number of different values of team is 1, in teams.csv where amount is $1,500."},
		{"teams", "total amount between 1500 and 2000", "I cannot filter by a figure of groups."},
		{"teams", "total amount in 2024", "The total amount is $1,590, in teams.csv where joined is in 2024."},
		{"teams", "total amount since 2025", "The total amount is $1,800, in teams.csv where joined is not before 2025-01-01."},
		{"teams", "how many teams between $1,500 and $2,000", "The number of different values of team is 2, in teams.csv where amount is between $1,500 and $2,000."},
		{"teams", "amount before 2025", "teams.csv has 2 rows where joined is before 2025-01-01:\n- $1,500\n- $90"},
		{"markets", "how many rows before 2025", `I did not understand "2025", "before".`},
		{"teams", "highest score and wins", "I can answer for one superlative at a time."},
		{"teams", "top 2 teams by wins", "teams.csv has 3 rows; here are 2 with the highest wins:\n- Blues, 30, 6\n- Greens, 25, 5"},
		{"teams", "which league has the most teams", "A has the highest number of rows: 2."},
		{"teams", "how many active teams", "There are 2 rows in teams.csv where active is yes."},
		{"teams", "total teams", "I did not understand what \"team\" is for."},
		{"teams", "total wins and teams", "I did not understand what \"team\" is for."},
		{"teams", "amount from 1500 to 2000", `I do not know what "from 1500" means.`},

		{"teams", "which teams have an average score over 20", "I cannot filter by a figure of groups."},
		{"teams", "leagues with a total of over 20 wins", "I cannot filter by a figure of groups."},
		{"teams", "number of teams by league over 1", "I cannot filter by a figure of groups."},

		{"teams", "teams that were not sold in A", `I did not understand "sold".`},
		{"makers", "names that were not sold in Bern", `I did not understand "sold".`},
		{"teams", "how many teams where league is C", `I did not understand "C".`},
		{"teams", `how many teams where league is "C"`, "The number of different values of team is 0, in teams.csv where league is C."},

		{"teams", "May I see the total amount?", `I did not understand "May".`},
		{"teams", "May 2024 amount", "teams.csv has 1 row where joined is in May 2024:\n"},
		{"teams", "Yes, how many teams?", `I did not understand "Yes".`},
		{"teams", "how many teams with active true", "The number of different values of team is 2, in teams.csv where active is true."},
		{"teams", "how many teams are not only in league A", `I did not understand "not", "only".`},
		{"teams", "how many teams are not just open", `I did not understand "just", "not".`},

		{"teams", "how many teams joined by 2024", `I do not know what "by 2024" means.`},
		{"teams", "how many teams joined by March 2024", `I do not know what "by March 2024" means.`},
		{"teams", "how many teams as of 2024", `I did not understand "2024", "as of".`},
		{"teams", "how many teams have a score about 10", `I do not know what "about 10" means.`},
		{"teams", "how many teams joined from May 2024 on", `I did not understand "on".`},
		{"teams", "how many teams joined from May 2024 to January 2025", "The number of different values of team is 2, in teams.csv where joined is between 2024-05-01 and 2025-01-31."},

		{"teams", "how many teams have status missing", `I did not understand "missing", "status".`},
		{"teams", `how many teams have the status "missing"`, "The number of different values of team is 1, in teams.csv where status is missing."},
		{"teams", "how many daily teams", `I did not understand "daily".`},
		{"teams", "how many teams have the plan table", `I did not understand "plan", "table".`},
		{"teams", "A total of the wins", `I did not understand "A".`},
		{"teams", "A league total wins", "The total wins is 9, in teams.csv where league is A."},

		{"makers", "how many salaries", "The total salary"},
		{"teams", "how many amounts", "Do you mean the number of rows, or the total amount?"},
		{"teams", "how many scores are there", "Do you mean the number of rows, or the total score?"},
		{"stores", "how many sales", "Do you mean the number of rows, or the total total_sales?"},
		{"teams", "how many wins in league A", "The total wins is 9, in teams.csv where league is A."},
		{"teams", "show 1 total wins by league", "I do not know which group is meant."},
		{"makers", "salary of Jan", `I do not know whether "Jan" is a month or a name.`},
		{"makers", "salary in January", "people.csv has "},
		{"teams", "top 1 league by number of teams", "A has the highest number of different values of team: 2."},
		{"stores", "top 1 store by total_sales", "The highest total_sales is 150, in stores.csv:\n- 2, 150, 2024-02-10\n- 3, 150"},
		{"markets", "how many rows by month", "I group by a period only if one column alone has dates."},
	} {
		got := a.ask(files[tt.file], tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	id := files["teams"]
	assert.Contains(t, a.ask(id, "how many teams in league A?"), "The number of different values of team is 2")
	assert.Contains(t, a.ask(id, "how many of them are in league B?"), "I do not know whether two values of league are both meant.")
}

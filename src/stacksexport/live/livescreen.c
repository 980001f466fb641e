// SPDX-License-Identifier: GPL-2.0-or-later
#include "stacksexport/live/livescreen.h"

#include <curses.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_MAX 60
#define WAIT_MS	    100
#define ESCAPE	    27
#define FRAME_MIN   2 /* columns; a narrower frame has no name */

static const char *const pane_names[LIVE_PANE_CNT] = {
	[LIVE_FUNCTIONS] = "1 functions",
	[LIVE_WAITS] = "2 waits",
	[LIVE_PROCESSES] = "3 processes",
	[LIVE_FLAME] = "4 flame graph",
};

static const char help[] =
	"arrows: pane, scroll  /: filter  space: pause  t: by total  +/-: time  q: quit";

/* Colour pairs. */
enum { PAIR_FRAME = 1, PAIR_FRAME_CNT = 4 };

bool live_screen__open(struct live_screen *s)
{
	setlocale(LC_CTYPE, ""); /* for names in UTF-8; numbers stay as they are */
	if (!newterm(NULL, stdout, stdin))
		return false;
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	timeout(WAIT_MS);
	if (has_colors()) {
		static const short colors[PAIR_FRAME_CNT] = { COLOR_YELLOW, COLOR_GREEN, COLOR_CYAN,
							      COLOR_MAGENTA };

		start_color();
		for (int i = 0; i < PAIR_FRAME_CNT; i++)
			init_pair((short)(PAIR_FRAME + i), COLOR_BLACK, colors[i]);
	}
	s->request.width = (size_t)COLS;
	return true;
}

void live_screen__close(void)
{
	endwin();
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void livescreen_draw_head(const struct live_screen *s)
{
	move(0, 0);
	for (int i = 0; i < LIVE_PANE_CNT; i++) {
		if (i == (int)s->request.pane)
			attron(A_REVERSE);
		addstr(pane_names[i]);
		attroff(A_REVERSE);
		addstr("  ");
	}
	mvprintw(1, 0, "last %u s  %s%s", s->request.seconds, s->status,
		 s->paused ? "  paused" : "");
	if (s->typing || *s->filter)
		printw("  filter: %s%s", s->filter, s->typing ? "_" : "");
}

static void livescreen_draw_help(void)
{
	attron(A_REVERSE);
	mvhline(LINES - 1, 0, ' ', COLS);
	mvaddnstr(LINES - 1, 0, help, COLS - 1);
	attroff(A_REVERSE);
}

static int livescreen_lines_for_data(void)
{
	return LINES > 4 ? LINES - 4 : 0;
}

/* Draws the lines that have the filter's text. The first line is the heading and stays. */
static void livescreen_draw_table(struct live_screen *s, const struct live_data *d)
{
	char *copy = strdup(d->text), *rest = copy, *line;
	size_t row = 0, shown = 0;

	while ((line = strsep(&rest, "\n")) && (int)shown <= livescreen_lines_for_data()) {
		bool heading = row == 0;

		if (!*line || (!heading && *s->filter && !strcasestr(line, s->filter)))
			continue;
		row++;
		if (!heading && row - 1 <= s->first)
			continue;
		if (heading)
			attron(A_BOLD);
		mvaddnstr(2 + (int)shown++, 0, line, -1);
		attroff(A_BOLD);
	}
	if (s->first && s->first + 1 >= row)
		s->first = row > 1 ? row - 2 : 0;
	free(copy);
}

/* One frame of the flame graph, which begins at column x. */
static void livescreen_draw_frame(const struct live_screen *s, const char *name, int y,
				  const int x[2])
{
	int width = x[1] - x[0];
	unsigned hash = 0;
	bool found = *s->filter && strcasestr(name, s->filter);

	for (const char *c = name; *c; c++)
		hash = 31 * hash + (unsigned char)*c;
	attron(COLOR_PAIR(PAIR_FRAME + hash % PAIR_FRAME_CNT));
	if (!has_colors() || found)
		attron(A_REVERSE);
	mvhline(y, x[0], ' ', width > 1 ? width - 1 : 1);
	if (width > FRAME_MIN)
		mvaddnstr(y, x[0], name, width - 1);
	attrset(A_NORMAL);
}

/* Places nodes below their parents, in the order in which they were added: `x` has for each node
 * the next free column in it, and its own columns. */
static void livescreen_draw_flame(const struct live_screen *s, const struct live_data *d)
{
	uint32_t cnt = trie__cnt(&d->trie);
	int(*place)[3] = calloc(cnt, sizeof(*place)); /* begin, next free, depth */
	double scale = d->total && d->total[TRIE_ROOT] > 0
			       ? (double)COLS / (double)d->total[TRIE_ROOT]
			       : 0;

	for (uint32_t i = 1; place && d->total && i < cnt; i++) {
		uint32_t parent = trie__parent(&d->trie, i);
		uint32_t function = trie__function(&d->trie, i);
		int width = (int)((double)d->total[i] * scale + 0.5);
		int x[2] = { parent == TRIE_ROOT || place[parent][2] ? place[parent][1] : COLS, 0 };
		const char *name =
			function < d->name_cnt && d->names[function] ? d->names[function] : "?";

		x[1] = x[0] + width < COLS ? x[0] + width : COLS;
		place[i][0] = place[i][1] = x[0];
		place[i][2] = place[parent][2] + 1;
		place[parent][1] = x[1];
		if (x[1] > x[0] && place[i][2] > (int)s->first &&
		    place[i][2] - (int)s->first <= livescreen_lines_for_data())
			livescreen_draw_frame(s, name, 1 + place[i][2] - (int)s->first, x);
	}
	free(place);
}

void live_screen__draw(struct live_screen *s, const struct live_data *d)
{
	erase();
	livescreen_draw_head(s);
	if (s->request.pane == LIVE_FLAME && d->total)
		livescreen_draw_flame(s, d);
	else if (s->request.pane != LIVE_FLAME && d->text && *d->text)
		livescreen_draw_table(s, d);
	else
		mvaddstr(3, 0, "There is nothing to show yet.");
	livescreen_draw_help();
	refresh();
}

/* ---- keys ----------------------------------------------------------------------------------- */

static void livescreen_filter_key(struct live_screen *s, int key)
{
	size_t sz = strlen(s->filter);

	if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		s->typing = false;
	} else if (key == ESCAPE) {
		s->typing = false;
		s->filter[0] = '\0';
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		if (sz)
			s->filter[sz - 1] = '\0';
	} else if (key >= ' ' && key < 256 && sz + 1 < sizeof(s->filter)) {
		s->filter[sz] = (char)key;
		s->filter[sz + 1] = '\0';
	}
	s->first = 0;
}

static void livescreen_change_pane(struct live_screen *s, unsigned pane, bool *stale)
{
	s->request.pane = (enum live_pane)(pane % LIVE_PANE_CNT);
	s->first = 0;
	*stale = true;
}

static void livescreen_change_seconds(struct live_screen *s, int by, bool *stale)
{
	int seconds = (int)s->request.seconds + by;

	s->request.seconds = seconds < 1	     ? 1
			     : seconds > SECONDS_MAX ? SECONDS_MAX
						     : (unsigned)seconds;
	*stale = true;
}

static void livescreen_command_key(struct live_screen *s, int key, bool *stale)
{
	unsigned pane = s->request.pane;
	size_t page = (size_t)livescreen_lines_for_data();

	switch (key) {
	case 'q': s->ended = true; break;
	case '/': s->typing = true; break;
	case ESCAPE: s->filter[0] = '\0'; break;
	case ' ':
	case 'p': s->paused = !s->paused; break;
	case 't':
		s->request.by_total = !s->request.by_total;
		*stale = true;
		break;
	case '+': livescreen_change_seconds(s, 5, stale); break;
	case '-': livescreen_change_seconds(s, -5, stale); break;
	case KEY_RIGHT:
	case '\t': livescreen_change_pane(s, pane + 1, stale); break;
	case KEY_LEFT: livescreen_change_pane(s, pane + LIVE_PANE_CNT - 1, stale); break;
	case KEY_DOWN: s->first++; break;
	case KEY_UP: s->first -= s->first > 0; break;
	case KEY_NPAGE: s->first += page; break;
	case KEY_PPAGE: s->first -= s->first < page ? s->first : page; break;
	case KEY_HOME: s->first = 0; break;
	default:
		if (key >= '1' && key < '1' + LIVE_PANE_CNT)
			livescreen_change_pane(s, (unsigned)(key - '1'), stale);
	}
}

bool live_screen__key(struct live_screen *s, bool *stale)
{
	int key = getch();

	if (key == ERR)
		return false;
	if (key == KEY_RESIZE) {
		s->request.width = (size_t)COLS;
		*stale = true;
	} else if (s->typing) {
		livescreen_filter_key(s, key);
	} else {
		livescreen_command_key(s, key, stale);
	}
	return true;
}

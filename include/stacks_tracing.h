/* SPDX-License-Identifier: 0BSD */
/*
 * Spans: a program reports what it is working on. Every event that `collector -p usdt:PROGRAM`
 * records then carries the innermost span of its thread. This header needs no library. It works in
 * C (C99 and later) and C++ (C++11 and later), with gcc or clang, on x86-64 and arm64 Linux;
 * elsewhere it compiles to nothing. Unlike the rest of the project it may go into any program
 * (0BSD).
 *
 * C:
 *	STACKS_SPAN("parse", .id = number, .amount = size);	from here to the end of the block
 *
 *	struct stacks_span s = STACKS_SPAN_OPEN("fetch", .id = fd);	not tied to a thread
 *	stacks_span__enter(&s);		this thread works on it now; as often as you like
 *	stacks_span__exit(&s);		on the thread that entered it
 *	stacks_span__close(&s);		once, on any thread
 *
 * C++:
 *	stacks_tracing::span parsing("parse", number, size);
 *
 *	stacks_tracing::async_span fetch("fetch", fd);	closed by its destructor
 *	{
 *		stacks_tracing::async_span::entered now(fetch);
 *	}
 *
 * While no collector records spans, a probe is a load, a test and a branch that is not taken. Do
 * not use spans in signal handlers: ids and names are kept in thread-local memory.
 */
#ifndef STACKS_TRACING_H
#define STACKS_TRACING_H

#include <stdint.h>

/* ---- the wire: four USDT probes of the provider stacks_tracing -------------------------------
 *
 *	enter(span_id, parent_id, id, amount, name)	a thread begins to work on the span
 *	exit(span_id)					it stops, for now or for good
 *	exit_stack(span_id)				like exit, and requests the stack
 *	close(span_id)					the span is over
 *
 * All arguments are u64 except `name`, a string of which the first 16 bytes count. It must be in
 * memory that has been touched (a copy ensures that here). Span ids are unique in the process and
 * never 0. A parent_id of 0 means no parent. The program defines what `id` and `amount` mean.
 * Arguments are evaluated only while a collector records spans.
 */
#define STACKS_ENTER(span_id, parent_id, id, amount, name)                           \
	do {                                                                         \
		if (STACKS_LISTENING(enter))                                         \
			stacks_tracing__enter(span_id, parent_id, id, amount, name); \
	} while (0)
#define STACKS_EXIT(span_id)	   STACKS_PROBE_(exit, span_id)
#define STACKS_EXIT_STACK(span_id) STACKS_PROBE_(exit_stack, span_id)
#define STACKS_CLOSE(span_id)	   STACKS_PROBE_(close, span_id)

#define STACKS_PROBE_(probe, span_id)                     \
	do {                                              \
		if (STACKS_LISTENING(probe))              \
			stacks_tracing__##probe(span_id); \
	} while (0)

#define STACKS_NAME_SZ 16

#define STACKS_INLINE_ static inline __attribute__((always_inline))

/* Not marked cold: the compiler would move the code that calls it into separate functions, such
 * as main.cold. */
#define STACKS_CALLED_ static __attribute__((noinline, unused))

/* All files that are linked into one program or shared library share one copy. */
#define STACKS_SHARED_ __attribute__((weak, visibility("hidden")))

#ifdef __cplusplus
extern "C" {
#endif

/* The state of a thread. Used only while a collector records spans. */
struct stacks_tracing_thread {
	uint64_t span_id;	  /* the innermost of the spans that the functions below made */
	uint64_t next_id, end_id; /* ids that the thread may assign */
	/* Name of the span that the thread enters. A buffer on the stack would give every
	 * function with a span a stack protector. */
	char name[STACKS_NAME_SZ];
};

STACKS_SHARED_ __thread struct stacks_tracing_thread stacks_tracing_thread;
STACKS_SHARED_ uint64_t stacks_tracing_id_cnt; /* ids that threads have reserved */

#if defined(__ELF__) && defined(__LP64__) && (defined(__x86_64__) || defined(__aarch64__))

/*
 * The number of listeners, which the kernel counts in the memory of each process. It is volatile
 * and marked as used: no code of the program writes to it, and the compiler does not see that a
 * note refers to it.
 */
#define STACKS_SEMAPHORE_(probe)       \
	STACKS_SHARED_ __attribute__(( \
		used, section(".probes"))) volatile uint16_t stacks_tracing_##probe##_semaphore

STACKS_SEMAPHORE_(enter);
STACKS_SEMAPHORE_(exit);
STACKS_SEMAPHORE_(exit_stack);
STACKS_SEMAPHORE_(close);

#define STACKS_LISTENING(probe) __builtin_expect(stacks_tracing_##probe##_semaphore != 0, 0)

/* A probe uses these registers wherever it is inlined. The collector then needs one description of
 * the arguments instead of one per place. */
#ifdef __x86_64__
#define STACKS_REG1_ "rdi"
#define STACKS_REG2_ "rsi"
#define STACKS_REG3_ "rdx"
#define STACKS_REG4_ "rcx"
#define STACKS_REG5_ "r8"
#define STACKS_NOPS_ "nop\n	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"
#define STACKS_ARG_  "8@%%rdi"
#define STACKS_ARGS_ "8@%%rdi 8@%%rsi 8@%%rdx 8@%%rcx 8@%%r8"
#else
#define STACKS_REG1_ "x0"
#define STACKS_REG2_ "x1"
#define STACKS_REG3_ "x2"
#define STACKS_REG4_ "x3"
#define STACKS_REG5_ "x4"
#define STACKS_NOPS_ "nop\n"
#define STACKS_ARG_  "8@x0"
#define STACKS_ARGS_ "8@x0 8@x1 8@x2 8@x3 8@x4"
#endif

/*
 * A nop, and the note that gives its address (SystemTap's SDT, version 3). x86-64 also has a nop of
 * 5 bytes: kernels since 6.18 replace it by a call, which is cheaper than the trap on the other
 * nop. "?": if an inline function has several copies, the linker keeps one copy and its note.
 * .stapsdt.base is for prelink.
 */
#define STACKS_NOP_(probe, args)                                                     \
	"990:	" STACKS_NOPS_ "	.pushsection .note.stapsdt, \"?\", \"note\"\n"      \
	"	.balign 4\n"                                                               \
	"	.4byte 992f - 991f, 994f - 993f, 3\n"                                      \
	"991:	.asciz \"stapsdt\"\n"                                                  \
	"992:	.balign 4\n"                                                           \
	"993:	.8byte 990b, _.stapsdt.base, stacks_tracing_" #probe "_semaphore\n"  \
	"	.asciz \"stacks_tracing\", \"" #probe "\", \"" args "\"\n"           \
	"994:	.balign 4\n"                                                           \
	"	.popsection\n"                                                             \
	"	.ifndef _.stapsdt.base\n"                                                  \
	"	.pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
	"	.weak _.stapsdt.base\n"                                                    \
	"	.hidden _.stapsdt.base\n"                                                  \
	"_.stapsdt.base: .space 1\n"                                                 \
	"	.size _.stapsdt.base, 1\n"                                                 \
	"	.popsection\n"                                                             \
	"	.endif\n"

/* Copies the first 16 bytes of `name` into memory that has been touched. Reads nothing after the
 * end of the string. */
STACKS_CALLED_ const char *stacks_tracing__copy(const char *name)
{
	char *copy = stacks_tracing_thread.name;
	int n = 0;

	for (; n < STACKS_NAME_SZ && name[n]; n++)
		copy[n] = name[n];
	for (; n < STACKS_NAME_SZ; n++)
		copy[n] = '\0';
	return copy;
}

STACKS_INLINE_ void stacks_tracing__enter(uint64_t span_id, uint64_t parent_id, uint64_t id,
					  uint64_t amount, const char *name)
{
	const char *copy = stacks_tracing__copy(name);
	register uint64_t arg1 __asm__(STACKS_REG1_);
	register uint64_t arg2 __asm__(STACKS_REG2_);
	register uint64_t arg3 __asm__(STACKS_REG3_);
	register uint64_t arg4 __asm__(STACKS_REG4_);
	register const char *arg5 __asm__(STACKS_REG5_);

	arg1 = span_id;
	arg2 = parent_id;
	arg3 = id;
	arg4 = amount;
	arg5 = copy;
	__asm__ __volatile__(STACKS_NOP_(enter, STACKS_ARGS_)
			     :
			     : "r"(arg1), "r"(arg2), "r"(arg3), "r"(arg4), "r"(arg5)
			     : "memory");
}

#define STACKS_DEFINE_(probe)                                                        \
	STACKS_INLINE_ void stacks_tracing__##probe(uint64_t span_id)                \
	{                                                                            \
		register uint64_t arg1 __asm__(STACKS_REG1_) = span_id;              \
		__asm__ __volatile__(STACKS_NOP_(probe, STACKS_ARG_) : : "r"(arg1)); \
	}

STACKS_DEFINE_(exit)
STACKS_DEFINE_(exit_stack)
STACKS_DEFINE_(close)

#else

#define STACKS_LISTENING(probe)		    0
#define stacks_tracing__exit(span_id)	    ((void)(span_id))
#define stacks_tracing__exit_stack(span_id) ((void)(span_id))
#define stacks_tracing__close(span_id)	    ((void)(span_id))
#define stacks_tracing__enter(span_id, parent_id, id, amount, name) \
	((void)(span_id), (void)(parent_id), (void)(id), (void)(amount), (void)(name))

#endif

/* ---- spans with ids of their own --------------------------------------------------------------
 */

/*
 * A span belongs to the holder of this struct; only one thread may use it at a time. Set the first
 * fields before you open it. A thread that has entered several spans must exit them in reverse
 * order.
 */
struct stacks_span {
	const char *name; /* must live as long as the span */
	uint64_t id, amount;
	/* Read when the span is opened. NULL: the thread's innermost span that this program or
	 * library has entered. */
	const struct stacks_span *parent;
	int exit_stack; /* record a user stack at each exit */

	uint64_t span_id; /* 0: no collector has recorded spans so far */
	uint64_t parent_id, outer_id;
	int entered;
};

#define STACKS_ID_BLOCK 1024

/*
 * Returns an id that no other thread, program or library in this process assigns: the address of
 * its own counter, shifted left by 16, plus the count. Libraries that are loaded next to each other
 * are at least 16 KiB apart, which is room for a billion spans.
 */
STACKS_CALLED_ uint64_t stacks_tracing__new_id(void)
{
	struct stacks_tracing_thread *thread = &stacks_tracing_thread;

	if (thread->next_id == thread->end_id) {
		const uint64_t *counter = &stacks_tracing_id_cnt;
		uint64_t address = 0;

		__builtin_memcpy(&address, &counter, sizeof(counter));
		thread->next_id =
			(address << 16) + __atomic_fetch_add(&stacks_tracing_id_cnt,
							     STACKS_ID_BLOCK, __ATOMIC_RELAXED);
		thread->end_id = thread->next_id + STACKS_ID_BLOCK;
	}
	return thread->next_id++;
}

STACKS_INLINE_ struct stacks_span stacks_span__open(struct stacks_span s)
{
	if (STACKS_LISTENING(enter)) {
		s.span_id = stacks_tracing__new_id();
		s.parent_id = s.parent ? s.parent->span_id : stacks_tracing_thread.span_id;
	}
	return s;
}

/* If the span was opened before a collector recorded spans, it gets its id now, and no parent. */
STACKS_INLINE_ void stacks_span__enter(struct stacks_span *s)
{
	if (STACKS_LISTENING(enter)) {
		if (!s->span_id)
			s->span_id = stacks_tracing__new_id();
		s->outer_id = stacks_tracing_thread.span_id;
		s->entered = 1;
		stacks_tracing_thread.span_id = s->span_id;
		stacks_tracing__enter(s->span_id, s->parent_id, s->id, s->amount, s->name);
	}
}

STACKS_INLINE_ void stacks_span__exit(struct stacks_span *s)
{
	if (__builtin_expect(s->entered, 0)) {
		s->entered = 0;
		stacks_tracing_thread.span_id = s->outer_id;
		if (s->exit_stack)
			STACKS_EXIT_STACK(s->span_id);
		else
			STACKS_EXIT(s->span_id);
	}
}

/* Call it after the last exit. */
STACKS_INLINE_ void stacks_span__close(struct stacks_span *s)
{
	if (__builtin_expect(s->span_id != 0, 0))
		STACKS_CLOSE(s->span_id);
	s->span_id = 0;
}

STACKS_INLINE_ struct stacks_span stacks_span__begin(struct stacks_span s)
{
	if (STACKS_LISTENING(enter)) {
		s = stacks_span__open(s);
		stacks_span__enter(&s);
	}
	return s;
}

STACKS_INLINE_ void stacks_span__end(struct stacks_span *s)
{
	stacks_span__exit(s);
	stacks_span__close(s);
}

#define STACKS_JOIN_(a, b)  STACKS_JOIN2_(a, b)
#define STACKS_JOIN2_(a, b) a##b
#define STACKS_LOCAL_	    STACKS_JOIN_(stacks_span_, __LINE__)

#ifndef __cplusplus

/* STACKS_SPAN(name, .field = value …); a declaration */
#define STACKS_SPAN(...)                                                                      \
	__attribute__((cleanup(stacks_span__end), unused)) struct stacks_span STACKS_LOCAL_ = \
		stacks_span__begin((struct stacks_span){ .name = __VA_ARGS__ })

/* STACKS_SPAN_OPEN(name, .field = value …); an expression */
#define STACKS_SPAN_OPEN(...) stacks_span__open((struct stacks_span){ .name = __VA_ARGS__ })

#else
} /* extern "C" */

/* STACKS_SPAN(name, id, amount); a declaration */
#define STACKS_SPAN(...) ::stacks_tracing::span STACKS_LOCAL_(__VA_ARGS__)

namespace stacks_tracing
{

/* For a span with more than name, id and amount, pass a stacks_span with its first fields set. */
inline stacks_span describe(const char *name, uint64_t id, uint64_t amount) noexcept
{
	stacks_span how = {};

	how.name = name;
	how.id = id;
	how.amount = amount;
	return how;
}

/* A span from its construction to the end of its scope. */
class span
{
      public:
	explicit span(const stacks_span &how) noexcept : s(stacks_span__begin(how))
	{
	}
	explicit span(const char *name, uint64_t id = 0, uint64_t amount = 0) noexcept
	    : span(describe(name, id, amount))
	{
	}
	~span()
	{
		stacks_span__end(&s);
	}
	span(const span &) = delete;
	span &operator=(const span &) = delete;

	/* Returns the span, for use as the parent of others. */
	const stacks_span *get() const noexcept
	{
		return &s;
	}

      private:
	stacks_span s;
};

/* A span that is not tied to a scope. */
class async_span
{
      public:
	explicit async_span(const stacks_span &how) noexcept : s(stacks_span__open(how))
	{
	}
	explicit async_span(const char *name, uint64_t id = 0, uint64_t amount = 0) noexcept
	    : async_span(describe(name, id, amount))
	{
	}
	async_span(async_span &&from) noexcept : s(from.s)
	{
		from.s = stacks_span();
	}
	~async_span()
	{
		stacks_span__close(&s);
	}
	async_span(const async_span &) = delete;
	async_span &operator=(const async_span &) = delete;
	async_span &operator=(async_span &&) = delete;

	void enter() noexcept
	{
		stacks_span__enter(&s);
	}
	void exit() noexcept
	{
		stacks_span__exit(&s);
	}
	const stacks_span *get() const noexcept
	{
		return &s;
	}

	/* The thread is in the span until the end of the scope. */
	class entered
	{
	      public:
		explicit entered(async_span &span_) noexcept : span(span_)
		{
			span.enter();
		}
		~entered()
		{
			span.exit();
		}
		entered(const entered &) = delete;
		entered &operator=(const entered &) = delete;

	      private:
		async_span &span;
	};

      private:
	stacks_span s;
};

} /* namespace stacks_tracing */
#endif
#endif

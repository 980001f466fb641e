// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of AArch64 for the tests: leaves with their return address in x30 only, frames with and
 * without a frame record, alloca, large frames, arguments on the stack, tail calls, a raised signal
 * and a signal that interrupts a leaf. Runs once, without a C library, some thousand instructions.
 */
#define NI __attribute__((noinline, noipa))

typedef unsigned long word;

struct kernel_sigaction {
	void (*handler)(int, void *, void *);
	word flags;
	void (*restorer)(void);
	word mask;
};

enum { SYS_EXIT = 93, SYS_KILL = 129, SYS_RT_SIGACTION = 134, SYS_GETPID = 172 };
enum { SIG_USR1 = 10, SIG_SEGV = 11 };
#define SA_SIGINFO  4
#define SA_RESTORER 0x04000000

word syscall3(word nr, word a, word b, word c, word d);
void restore_rt(void);
int leaf_that_is_interrupted(int);

static volatile int sink;

NI int leaf(int a)
{
	return a * 3 + 1;
}

NI int leaf_with_stack(int n)
{
	volatile int v[20];

	for (int i = 0; i < 4; i++)
		v[i] = n + i;
	return v[1] + v[2];
}

NI int recurse(int n)
{
	return n ? recurse(n - 1) + leaf(n) : leaf_with_stack(3);
}

NI int with_alloca(int n)
{
	volatile char *p = __builtin_alloca((unsigned long)n * 16 + 16);

	p[0] = (char)n;
	return recurse(2) + p[0];
}

NI int with_large_frame(int n)
{
	volatile char v[70000];

	v[n] = 1;
	v[69999] = 2;
	return recurse(1) + v[n];
}

NI int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k)
{
	return leaf(a + b + c + d + e + f + g + h + i + j + k) + leaf(k);
}

NI int with_arguments(int n)
{
	return many(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + leaf(n);
}

NI int tail(int n)
{
	sink = leaf(n);
	return recurse(n & 1);
}

NI int saved_registers(int a, int b, int c)
{
	int x = leaf(a), y = leaf(b), z = leaf(c);

	return x * leaf(y) + z * leaf(x) + y * leaf(z) + leaf(x + y + z);
}

typedef int function(int);
function *const table[] = { leaf, leaf_with_stack, recurse, with_alloca, tail };

NI int by_pointer(int n)
{
	int sum = 0;

	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		sum += table[i](n);
	return sum;
}

/* A read from address 0 is redirected to a valid address. */
NI void on_segv(int signal, void *info, void *context)
{
	word *x1 = (word *)((char *)context + 176 + 8 + 1 * 8);

	(void)signal, (void)info;
	*x1 = (word)&sink;
	sink = recurse(1);
}

NI void on_usr1(int signal, void *info, void *context)
{
	(void)info, (void)context;
	sink = with_alloca(signal & 1);
}

NI static void handle(int signal, void (*handler)(int, void *, void *))
{
	struct kernel_sigaction sa = { handler, SA_SIGINFO | SA_RESTORER, restore_rt, 0 };

	syscall3(SYS_RT_SIGACTION, (word)signal, (word)&sa, 0, 8);
}

int main(void)
{
	sink = recurse(4) + with_alloca(3) + with_large_frame(5) + with_arguments(2);
	sink = by_pointer(2) + saved_registers(1, 2, 3);
	handle(SIG_USR1, on_usr1);
	handle(SIG_SEGV, on_segv);
	syscall3(SYS_KILL, syscall3(SYS_GETPID, 0, 0, 0, 0), SIG_USR1, 0, 0);
	sink = leaf_that_is_interrupted(7);
	syscall3(SYS_EXIT, 0, 0, 0, 0);
	return 0;
}

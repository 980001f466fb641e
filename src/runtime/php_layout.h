/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of PHP that are read: indexes of struct runtime_layout.at, and what is the same in all
 * versions (zend_globals.h, zend_compile.h, zend_types.h, zend.h, zend_modules.h). */
#ifndef RUNTIME_PHP_LAYOUT_H
#define RUNTIME_PHP_LAYOUT_H

#include "runtime/runtime.h"

enum php_at {
	PHP_HANDLER,  /* zend_internal_function */
	PHP_MODULE,   /* zend_internal_function */
	PHP_OPS_CNT,  /* zend_op_array.last; in the word before the next one */
	PHP_OPS,      /* zend_op_array.opcodes */
	PHP_FILE,     /* zend_op_array.filename */
	PHP_LINE,     /* zend_op_array.line_start */
	PHP_FRAME,    /* executor_globals.current_execute_data */
	PHP_RETURN,   /* execute_ex(): from its stack pointer to its return address; 0: unknown */
	PHP_SAVED_FP, /* … to the frame pointer that it has saved; 0: it saves none */
	PHP_AT_CNT
};

_Static_assert(PHP_AT_CNT <= RUNTIME_OFFSETS, "room");

/* zend_executor_globals */
#define PHP_GLOBALS_SELF 288 /* symtable_cache_limit: the end of an array that it comes after */

/* zend_execute_data, in words */
#define PHP_FRAME_OP	   0
#define PHP_FRAME_FUNCTION 3
#define PHP_FRAME_INFO	   5 /* ZEND_CALL_INFO(), and the number of arguments */
#define PHP_FRAME_PREVIOUS 6

#define PHP_CALL_TOP (1u << 17) /* ZEND_CALL_TOP: C has called it */

/* zend_function: its type is the first byte */
#define PHP_USER  2 /* ZEND_USER_FUNCTION */
#define PHP_EVAL  4 /* ZEND_EVAL_CODE */
#define PHP_NAME  (8 * CAPTURE_PHP_NAME)
#define PHP_CLASS (8 * CAPTURE_PHP_CLASS)

#define PHP_OP_SZ   32 /* zend_op */
#define PHP_OP_LINE 24

#define PHP_STRING_TEXT 24 /* zend_string */

#define PHP_CLASS_NAME 8 /* zend_class_entry */

#define PHP_TABLE_BUCKETS 16 /* HashTable */
#define PHP_TABLE_CNT	  24

#define PHP_MODULE_API	  4 /* zend_module_entry */
#define PHP_MODULE_THREAD 9
#define PHP_MODULE_NAME	  32

int php__read(struct remote *, const struct runtime_layout *, const struct function_wanted *,
	      struct script_function *);
size_t php__split(const struct runtime_calls *, struct runtime_run *runs);
enum managed_result php__step(struct code_walk *, struct managed_frame *);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/* Answers api/changes: the significant changes that `stacksexport diff` prints. */
#include <errno.h>

#include "stacksexport/web/answers.h"
#include "stacksexport/web/difffunctions.h"
#include "stacksexport/web/flame.h"
#include "stacksexport/web/jsonout.h"
#include "stacksexport/web/sides.h"

struct changes {
	struct calltree_options options;
	struct sides sides;
	struct diff_functions functions;
};

static int changes_read(struct changes *c, struct web_request *r, struct answer *a)
{
	int err = flame__options(r, &c->options, a);

	return err ? err : sides__read(&c->sides, r, a);
}

static void changes_show_text(struct buf *out, const char *name, struct frame_text text)
{
	json_out__key(out, name);
	json_out__text(out, text.s, text.sz);
}

static void changes_show_row(const struct diff_change *c, const struct function *f,
			     const struct stackset *s, struct buf *out)
{
	const struct {
		const char *name;
		double value;
	} numbers[] = {
		{ "a", c->a }, { "b", c->b }, { "p", c->p }, { "lo", c->lo }, { "hi", c->hi }
	};

	json_out__open(out, '{');
	changes_show_text(out, "name", stackset__text(s, f->name));
	changes_show_text(out, "module", stackset__text(s, f->module));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		json_out__key(out, numbers[i].name);
		json_out__double(out, numbers[i].value);
	}
	json_out__close(out, '}');
}

/* Appends the functions of which a field has changed significantly. */
static void changes_show_field(const struct diff_functions *d, enum diff_field field,
			       const struct stackset *s, struct buf *out)
{
	json_out__open(out, '[');
	for (size_t i = 0; i < d->cnt; i++) {
		struct diff_change c = diff_functions__change(d, field, i);

		if (c.significant)
			changes_show_row(&c, stackset__function(s, d->functions[i]), s, out);
	}
	json_out__close(out, ']');
}

/* Must hold the lock. */
static int changes_show(struct changes *c, struct model *model, struct buf *out)
{
	const struct metric_shape shape = { .model = model,
					    .metric = c->sides.metric,
					    .tree = model__tree(model, &c->options),
					    .waits = SHAPE_WAITING };
	int err = shape.tree ? sides__list(&c->sides, &shape) : -ENOMEM;

	if (!err)
		err = diff_functions__make(&c->functions, &shape, &c->sides);
	if (err)
		return err;
	json_out__key_text(out, "unit", c->sides.metric->unit);
	json_out__key(out, "self");
	changes_show_field(&c->functions, DIFF_SELF, model->stacks, out);
	json_out__key(out, "total");
	changes_show_field(&c->functions, DIFF_TOTAL, model->stacks, out);
	return 0;
}

int changes__answer(struct web_request *r, struct answer *a)
{
	struct changes c = { .options = { 0 } };
	int err = changes_read(&c, r, a);

	if (!err) {
		json_out__open(&a->json, '{');
		pthread_mutex_lock(&r->view->model.lock);
		err = changes_show(&c, &r->view->model, &a->json);
		pthread_mutex_unlock(&r->view->model.lock);
		json_out__close(&a->json, '}');
	}
	sides__free(&c.sides);
	diff_functions__free(&c.functions);
	return err;
}

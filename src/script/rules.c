/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a file of rules requires of a recording, handed to the host: memoir check. */
#include "base/buf_type.h"
#include "script/list.h"

static const char *const kinds[] = {
	[RULE_LIMIT] = "limit",	  [RULE_GROWTH] = "growth", [RULE_BASELINE] = "baseline",
	[RULE_IGNORE] = "ignore", [RULE_EXPECT] = "expect", [RULE_SUPPRESSIONS] = "suppressions",
	[RULE_EXPECT + 1] = NULL,
};

/* rule(kind, text [, amount | holds [, list]]) */
static int rule(lua_State *L)
{
	struct script *s = script_of(L);
	struct script_rule r = { .kind = (enum script_rule_kind)luaL_checkoption(L, 1, NULL,
										 kinds) };
	struct err err = { .offset = ERR_NO_OFFSET };

	lua_settop(L, 4);
	r.text = luaL_checkstring(L, 2);
	if (r.kind == RULE_LIMIT)
		r.amount = luaL_checkstring(L, 3);
	r.holds = lua_toboolean(L, 3);
	if (r.kind == RULE_EXPECT && !lua_isnil(L, 4))
		r.view = script_list_view(L, script_check_list(L, 4));
	if (s->options.host.rule(s->options.host.context, &r, &err))
		return script_fail(L, "%s: %s", kinds[r.kind], err.text);
	return 0;
}

void script_rules_open(lua_State *L)
{
	if (!script_of(L)->options.host.rule)
		return;
	lua_pushcfunction(L, rule);
	lua_setfield(L, -2, "rule");
}

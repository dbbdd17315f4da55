// SPDX-License-Identifier: MIT OR Apache-2.0
// What eslint looks at in web/ and here: mistakes that types do not show, not taste (prettier's).
import hooks from "eslint-plugin-react-hooks";
import eslint from "@eslint/js";
import { config, configs } from "typescript-eslint";

export default config(eslint.configs.recommended, configs.recommended, {
	files: ["**/*.ts", "**/*.tsx"],
	languageOptions: { parserOptions: { projectService: true } },
	plugins: { "react-hooks": hooks },
	rules: {
		"@typescript-eslint/await-thenable": "error",
		"@typescript-eslint/no-floating-promises": "error",
		"@typescript-eslint/no-misused-promises": "error",
		"@typescript-eslint/no-unused-vars": ["error", { ignoreRestSiblings: true }],
		eqeqeq: ["error", "always", { null: "ignore" }],
		"react-hooks/rules-of-hooks": "error",
	},
});

// SPDX-License-Identifier: MIT OR Apache-2.0
// What the build defines.
declare const __REPORT__: boolean;
declare module "*.css";

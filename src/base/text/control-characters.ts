// oxlint-disable-next-line no-control-regex -- control characters are meant
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Whether the string has a C0 or C1 control character or DEL: these can mislead readers of a page or log. */
export const hasControlCharacter = (text: string): boolean => CONTROL.test(text)

// oxlint-disable-next-line no-control-regex -- control characters are meant
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Whether the text has a character of C0 or C1, or DEL: nobody types one, and whoever reads the text may be misled by it. */
export const hasControlCharacter = (text: string): boolean => CONTROL.test(text)

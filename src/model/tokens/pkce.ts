/** Whether the text has the syntax that code verifiers and challenges share (RFC 7636 §4.1). */
export const isWellFormed = (text: string): boolean => /^[\w.\-~]{43,128}$/.test(text)

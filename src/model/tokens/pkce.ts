/** Whether the text has the syntax that code verifiers and challenges share (RFC 7636 §4.1). */
export const isWellFormed = (text: string): boolean => /^[\w.\-~]{43,128}$/.test(text)

/** Whether the text can be a challenge of method S256: a SHA-256 in base64url (RFC 7636 §4.2). */
export const isS256Challenge = (text: string): boolean => /^[\w-]{43}$/.test(text)

const MAX_LENGTH = 1024

/** Whether the text is an absolute URI without a fragment (RFC 3986 §4.3), as a resource must be (RFC 8707 §2). */
export const isAbsoluteUri = (text: string): boolean =>
  text.length <= MAX_LENGTH && /^[a-z][a-z0-9+.-]*:[^\s#]+$/i.test(text) && URL.canParse(text)

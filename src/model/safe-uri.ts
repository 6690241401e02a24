/** Whether an absolute URI is safe in a header, unambiguous to all parsers, and not executable. */
export const isSafeUri = (uri: string): boolean =>
  uri.length <= 4096 &&
  /^[\x21-\x5b\x5d-\x7e]+$/.test(uri) && // no control character, no white space, no backslash
  URL.canParse(uri) &&
  !/^(javascript|data|vbscript|blob|file):/i.test(uri)

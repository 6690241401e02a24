/** Whether both databases can store the string: PostgreSQL refuses NUL, and lone surrogates are not valid UTF-8. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()

// oxlint-disable-next-line no-control-regex -- control characters are meant
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/

/** Whether the string has a C0 or C1 control character or DEL: these can mislead readers of a page or log. */
export const hasControlCharacter = (text: string): boolean => CONTROL.test(text)

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * The text for a terminal: escapes control characters, which it would execute, and characters that are invisible or change the
 * direction of the text.
 */
export const visible = (text: string): string =>
  text.replace(UNSEEN, character =>
    character
      .split('')
      .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )

/** More combining characters in a row than any language uses (Unicode UAX #15 §13, Stream-Safe Text Format). */
const MAX_MARKS = 30
/** Combining characters, and the two other characters that decompose into them. */
const MARK = String.raw`[\p{M}\uff9e\uff9f]`
const TOO_MANY = new RegExp(`${MARK}{${MAX_MARKS}}(?=${MARK})`, 'gu')
const GRAPHEME_JOINER = '\u034f'

/**
 * The text in a Unicode form. Combining characters in a row are sorted, which takes time by the square of their number, so after
 * each thirty of them a joiner begins another row.
 */
export const normalized = (text: string, form: 'NFC' | 'NFKC' | 'NFKD'): string =>
  text.replace(TOO_MANY, `$&${GRAPHEME_JOINER}`).normalize(form)

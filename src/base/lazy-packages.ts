// Packages for synchronous work that most servers never do. Loaded on first use, because they would add 3 MB and 10 ms to every
// start.
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** Regular expressions in linear time. */
export const re2js = (): typeof import('re2js') => load('re2js')

/** A parser of XML. */
export const saxes = (): typeof import('saxes') => load('saxes')

// Packages of synchronous work that few servers ever do. Loaded at the first use: they would take 3 MB and 10 ms of every start.
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** Regular expressions in linear time. */
export const re2js = (): typeof import('re2js') => load('re2js')

/** A parser of XML. */
export const saxes = (): typeof import('saxes') => load('saxes')

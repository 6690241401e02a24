import type { Environment } from '../environment.ts'
import { nearest } from '../nearest.ts'

const PREFIX = 'LATCHKEY_'
const NAMES = [
  'BASE_URL',
  'COMPATIBILITY',
  'CONFIG',
  'DATABASE',
  'HOST',
  'MASTER_KEY',
  'NO_INSTALL',
  'PORT',
  'SERVICE',
  'UAA_DATABASE',
  'WORKERS',
]

/** Warnings about environment variables whose names look like mistyped ones. Others may belong to the file or the platform. */
export const environmentWarnings = (env: Environment): readonly string[] =>
  Object.keys(env).flatMap(variable => {
    const name = variable.startsWith(PREFIX) ? variable.slice(PREFIX.length) : ''
    const meant = NAMES.includes(name) ? undefined : nearest(name, NAMES)
    return meant === undefined ? [] : [`${variable} in the environment has no effect; did you mean ${PREFIX}${meant}?`]
  })

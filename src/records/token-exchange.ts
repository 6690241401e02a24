// What a client may exchange tokens for (RFC 8693): a member of the record of a client.
import * as v from 'valibot'
import { isKeepable, UNKEEPABLE } from './kinds.ts'

/** Whether the new token names the actor. */
const EXCHANGE_MODES = ['delegation', 'impersonation'] as const

const MAX_RULES = 50
const MAX_NAMES = 100
const MAX_NAME_LENGTH = 2048

const name = v.pipe(
  v.string('has a value that is not a string'),
  v.check<string, string>(isKeepable, UNKEEPABLE),
  v.minLength(1, 'has an empty string'),
  v.maxLength(MAX_NAME_LENGTH, `has a string of more than ${MAX_NAME_LENGTH} characters`),
)

const names = (of: string) =>
  v.pipe(
    v.array(name, `has a rule without ${of}`),
    v.minLength(1, `has a rule without ${of}`),
    v.maxLength(MAX_NAMES, `has a rule with more than ${MAX_NAMES} ${of}`),
    v.readonly(),
  )

/** Everything that is not allowed by a rule is refused. */
export const exchangeRules = v.pipe(
  v.array(
    v.strictObject(
      {
        /** The audience of the new token: the id of a client, or a resource. */
        audience: name,
        /** The clients whose tokens may be exchanged. */
        subjects: names('subjects'),
        /** The scopes that the new token has at most. */
        scopes: names('scopes'),
        mode: v.picklist(EXCHANGE_MODES, `has a mode that is not one of: [${EXCHANGE_MODES.join(', ')}]`),
      },
      'must be a list of objects with audience, subjects, scopes and mode',
    ),
    'must be a list of objects with audience, subjects, scopes and mode',
  ),
  v.maxLength(MAX_RULES, `has more than ${MAX_RULES} rules`),
  v.readonly(),
)

/** One rule. */
export type ExchangeRule = v.InferOutput<typeof exchangeRules>[number]

// Preserves the provider settings that UAA does not have when a record is replaced.
import { isJsonRecord } from '../base/json.ts'
import type { JsonRecord } from '../base/json.ts'

/** Settings of providers of any type. */
const KEPT = [
  'acrMapping',
  'allowIdpInitiated',
  'authorizedParties',
  'caCertificates',
  'linkByEmail',
  'metadataCertificates',
]

const KEPT_OF_PASSWORD_POLICY = ['refuseCommonPasswords', 'refuseOwnWords']

/** The settings of a request, and those stored before and after it. */
interface Change {
  /** The request's settings as they were sent. */
  readonly sent: JsonRecord
  /** The same as they are stored, without those that are null. */
  readonly config: JsonRecord
  /** Settings of the replaced record, which has the same type. */
  readonly before: JsonRecord
}

/**
 * The settings, with those that the request does not name as they were: programs made for UAA would otherwise reset them with
 * any change. Null in a request removes one.
 */
export function withKeptSettings({ sent, config, before }: Change): JsonRecord {
  const all = { ...config, ...unnamed(KEPT, sent, before) }
  const [sentPolicy, policy, policyBefore] = [sent, config, before].map(settings => settings['passwordPolicy'])
  if (!isJsonRecord(sentPolicy) || !isJsonRecord(policy) || !isJsonRecord(policyBefore)) return all
  return { ...all, passwordPolicy: { ...policy, ...unnamed(KEPT_OF_PASSWORD_POLICY, sentPolicy, policyBefore) } }
}

/** The settings that the request does not name, unchanged. */
const unnamed = (names: readonly string[], sent: JsonRecord, before: JsonRecord): JsonRecord =>
  Object.fromEntries(
    names.filter(name => !Object.hasOwn(sent, name) && Object.hasOwn(before, name)).map(name => [name, before[name]]),
  )

// Explains a refusal: the sentence of its rule, with the values of the records.
import type { Client } from '../../model/clients/client.ts'
import type { OAuthError } from '../../model/oauth-error.ts'
import { RULES } from '../../model/rules.ts'
import type { User } from '../../model/users/user.ts'
import type { Zone } from '../../model/zones/zone.ts'
import { plainDescription } from '../../web/answers.ts'
import type { ExplainDeps } from './deps.ts'
import type { ExplainedRefusal } from './explanation.ts'
import { shortList } from './scope-reasons.ts'

/** The client and the user of a refusal, as far as they were found. */
interface RefusalParties {
  readonly client?: Client | undefined
  readonly user?: User | undefined
}

/** A refusal with its rule, and the detail that the client does not get. */
export async function explainRefusal(
  zone: Zone,
  error: OAuthError,
  { parties, deps }: { readonly parties: RefusalParties; readonly deps: Pick<ExplainDeps, 'behaviour' | 'store'> },
): Promise<ExplainedRefusal> {
  const { rule = 'request' } = error
  const description = plainDescription(error.message, deps.behaviour)
  const detail = error.detail ?? (await detailOf(zone, error, { parties, deps })) ?? `Rule not met: ${RULES[rule]}`
  return { rule, detail, error: error.error, description }
}

async function detailOf(
  zone: Zone,
  { rule, message }: OAuthError,
  { parties: { client, user }, deps }: { parties: RefusalParties; deps: Pick<ExplainDeps, 'store'> },
): Promise<string | undefined> {
  if (rule === undefined) return message
  if (!client) return undefined
  const { clientId } = client
  switch (rule) {
    case 'client-grant-type':
      return `${clientId} has the grant types ${shortList(client.authorizedGrantTypes)}.`
    case 'client-scope':
    case 'no-scope-left':
      return `The scope of ${clientId} has ${shortList(client.scope)}.`
    case 'client-without-scopes':
      return `The scope of ${clientId} is empty.`
    case 'client-authorities':
      return `${clientId} has the authorities ${shortList(client.authorities)}.`
    case 'resource':
      return `${message}. ${clientId} may ask for ${shortList(client.resources ?? [])}.`
    case 'provider-not-allowed':
      return (
        user &&
        `The user belongs to the provider ${user.origin}; ${clientId} allows ${shortList(client.allowedProviders ?? [])}.`
      )
    case 'provider-disabled':
      return user && `The provider ${user.origin} is disabled or does not exist.`
    case 'required-group': {
      if (!user) return undefined
      const names = user.groupNames ?? (await deps.store.groups.namesOfUser(zone.id, user.id))
      const missing = client.requiredUserGroups.filter(group => !names.includes(group))
      return `${clientId} requires its users to be in ${shortList(client.requiredUserGroups)}; the user is not in ${shortList(missing)}.`
    }
    case 'token-exchange-rule': {
      const rules = (client.tokenExchange ?? []).map(each => `${shortList(each.subjects)} for ${each.audience}`)
      return `${message}. ${clientId} may exchange ${rules.length === 0 ? 'no tokens' : `tokens of ${rules.join('; ')}`}.`
    }
    default:
      return undefined
  }
}

/** A form that a page of ours sends to another server in place of a redirect. */
export interface PostedForm {
  /** An absolute http(s) URL. */
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
}

/** Where the browser goes next: a URL to redirect to, or a form to post. */
export type Destination = string | PostedForm

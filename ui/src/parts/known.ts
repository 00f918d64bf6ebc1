// What a resource last said. Its own `latest` throws where the last answer was an error, and would take the page with it.

import type { Resource } from "solid-js";

export const known = <T>(resource: Resource<T>): T | undefined => (resource.error === undefined ? resource.latest : undefined);

//! The answer of a request that is no turn, held to the tools that hooks left it: nobody follows it, but tools bind.
use super::Turns;
use super::again::Origin;
use super::director::{AnswerDirector, Directing};
use super::read::Read;
use super::watch::{Legs, Watched, actual_form};
use crate::context::{AnswerForm, Binding, Operation, Roster, Step};
use crate::gateway::answer_head;
use crate::gateway::errors::GatewayError;
use crate::gateway::guard::StreamGuard;
use crate::gateway::leg_request::LegRequest;
use crate::gateway::legs::Bound;
use crate::json::Rope;
use crate::session::record::SessionKey;
use http::{HeaderMap, StatusCode};
use std::sync::Arc;

/// What is known of such a request when its answer comes.
pub struct Unattended {
    origin: Origin,
    form: AnswerForm,
    binding: Arc<Binding>,
    may_go_on: bool,
}

impl Unattended {
    /// `None` where no hook changed the request's tools.
    pub(super) fn new(turns: &Arc<Turns>, read: &Read, key: Option<&SessionKey>, tools: Roster) -> Option<Self> {
        if matches!(tools, Roster::Any) || read.endpoint().operation != Operation::Generate {
            return None;
        }
        let view = &read.view;
        let asked = matches!(view.step, Step::Prompt { .. } | Step::Tool { .. });
        Some(Self {
            origin: Origin::of(turns, read, key),
            form: view.form,
            binding: Arc::new(Binding { tools, asks: false }),
            may_go_on: asked && !view.structured && view.choices <= 1,
        })
    }

    /// The upstream answers with this head. `again`: the request, to be sent again, and its body.
    ///
    /// # Errors
    /// [`GatewayError::Withheld`] when the answer can't be held to its tools.
    pub fn answered(
        self,
        status: StatusCode,
        headers: &HeaderMap,
        guard: Option<StreamGuard>,
        (request, sent): (LegRequest, Rope),
    ) -> Result<Watched, GatewayError> {
        let watched = Watched::only(guard);
        if !status.is_success() {
            return Ok(watched);
        }
        if answer_head::encoding(headers).is_some() {
            return Err(GatewayError::Withheld);
        }
        let limit = self.origin.turns.config.limits.held_response;
        let again = self.origin.again(headers, request, sent, Arc::default());
        let directing = Directing { again, may_go_on: self.may_go_on, judge: None, stopping: None, mail: None };
        let legs = Legs {
            director: AnswerDirector::new(directing),
            form: actual_form(self.form, headers),
            binding: Some(Bound { to: self.binding, limit }),
        };
        Ok(Watched { legs: Some(legs), ..watched })
    }
}
